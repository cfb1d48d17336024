"""One embedded library for several processes: the first that opens it serves the others on a private socket.

`messages` frames what is sent, `discovery` says who serves a library and where, `client` and `server` are the two ends.
The standard library's `multiprocessing.connection` has no timeouts, and completes one handshake before it accepts the next:
a stranger who says nothing would keep everybody else out.
"""
