"use strict";
// Before anything is drawn: the theme that was chosen, else the system's.
try {
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* no storage, no choice */ }
