// What a server in JavaScript needs to be one of ours over HTTP, whoever wrote it; loaded before it, with `--import`.
//
// It listens on a free port of loopback, or the one that PORT names, which is printed in place of what it says on
// stdout; it ends with its stdin; each request is written down when it is answered.

import { appendFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";

const { listen } = net.Server.prototype;

net.Server.prototype.listen = function (_port, ...others) {
  this.once("listening", () => process.stdout.write(`PORT ${this.address().port}\n`));
  return listen.call(this, Number(process.env.PORT ?? 0), "127.0.0.1", ...others);
};

const { writeHead } = http.ServerResponse.prototype;

http.ServerResponse.prototype.writeHead = function (...head) {
  const written = writeHead.apply(this, head);
  const { method, headers } = this.req;
  const kind = this.getHeader("content-type") ?? kindIn(head.at(-1));
  const fact = { fact: "answer", pid: process.pid, method, headers, status: this.statusCode, kind };
  appendFileSync(process.env.CASE_LOG, JSON.stringify(fact) + "\n");
  return written;
};

function kindIn(given) {
  const fields = typeof given === "object" && !Array.isArray(given) ? Object.entries(given) : [];
  return fields.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "";
}

console.log = () => {};
process.stdin.on("end", () => process.exit(0)).resume();
