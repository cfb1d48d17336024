"use strict";
/* The frame of an entry in a chat: speaks JSON-RPC with the client around it (MCP Apps, 2026-01-26), and shows articles that the
   server has made and sanitised. It asks nobody else for anything. */
(() => {
  const PROTOCOL = "2026-01-26";
  const ARTICLE = "lorekeeper/article";
  const ENTRIES = "/entries/";
  const root = document.documentElement;
  const main = document.querySelector("main");
  const back = document.querySelector("#back");
  const status = document.querySelector("[role=status]");
  const waiting = new Map();
  const earlier = [];
  let requests = 0;
  let reported = "";

  const send = (message) => window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

  const notify = (method, params) => send({ method, params });

  const request = (method, params) =>
    new Promise((resolve, reject) => {
      requests += 1;
      waiting.set(requests, { resolve, reject });
      send({ id: requests, method, params });
    });

  const adapt = (context) => {
    if (context.theme === "light" || context.theme === "dark") root.dataset.theme = context.theme;
    const font = context.styles?.variables?.["--font-sans"];
    if (typeof font === "string") root.style.setProperty("--font-sans", font);
  };

  const report = () => {
    const size = { width: root.clientWidth, height: Math.ceil(document.body.getBoundingClientRect().height) };
    if (reported === JSON.stringify(size)) return;
    reported = JSON.stringify(size);
    notify("ui/notifications/size-changed", size);
  };

  const plain = (result) => {
    const text = (result.content ?? []).map((each) => each.text ?? "").join("\n");
    return Object.assign(document.createElement("pre"), { textContent: text || "There is nothing to show." });
  };

  const shown = (result) => {
    const html = result._meta?.[ARTICLE];
    if (typeof html !== "string") return [plain(result)];
    return [...new DOMParser().parseFromString(html, "text/html").querySelectorAll("body > article")];
  };

  const show = (nodes) => {
    main.replaceChildren(...nodes);
    for (const link of main.querySelectorAll("a[href]")) if (!followed(link)) link.removeAttribute("href");
    back.hidden = !earlier.length;
    status.textContent = "";
    window.scrollTo(0, 0);
  };

  const followed = (link) => {
    const href = link.getAttribute("href");
    return href.startsWith(ENTRIES) || href.startsWith("#") || /^(https?|mailto):/i.test(href);
  };

  const open = async (link) => {
    const href = link.getAttribute("href");
    if (!href.startsWith(ENTRIES)) return request("ui/open-link", { url: href });
    const uri = `lore://${href.slice(ENTRIES.length).replace(/[?#].*/, "")}`;
    const result = await request("tools/call", { name: "get_entity", arguments: { uri } });
    earlier.push([...main.childNodes]);
    return show(shown(result));
  };

  const refused = (error) => {
    status.textContent = `That cannot be opened here: ${error.message ?? "the chat refuses it"}`;
  };

  const notifications = {
    "ui/notifications/tool-result": (result) => show(shown(result)),
    "ui/notifications/tool-cancelled": () => show([plain({ content: [{ text: "Cancelled." }] })]),
    "ui/notifications/host-context-changed": adapt,
  };

  const answers = new Set(["ping", "ui/resource-teardown"]);

  const answer = ({ id, method }) =>
    send(answers.has(method) ? { id, result: {} } : { id, error: { code: -32601, message: "unknown method" } });

  const settle = ({ id, result, error }) => {
    const request = waiting.get(id);
    waiting.delete(id);
    if (error) request?.reject(error);
    else request?.resolve(result);
  };

  window.addEventListener("message", ({ source, data }) => {
    if (source !== window.parent || data?.jsonrpc !== "2.0") return;
    if (data.method === undefined) settle(data);
    else if (data.id !== undefined) answer(data);
    else notifications[data.method]?.(data.params ?? {});
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link || link.getAttribute("href").startsWith("#")) return;
    event.preventDefault();
    open(link).catch(refused);
  });

  back.addEventListener("click", () => show(earlier.pop()));

  new ResizeObserver(report).observe(document.body);

  const appInfo = { name: "lorekeeper-entry", title: "LoreKeeper", version: root.dataset.version };
  const appCapabilities = { availableDisplayModes: ["inline"] };
  request("ui/initialize", { appInfo, appCapabilities, protocolVersion: PROTOCOL }).then((result) => {
    adapt(result.hostContext ?? {});
    notify("ui/notifications/initialized", {});
    report();
  }, refused);
})();
