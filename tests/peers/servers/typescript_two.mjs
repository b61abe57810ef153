// A server made with the official TypeScript SDK, 2.x: every version, over stdio.
// With the argument `reject` it refuses the older versions. With `http` it serves over HTTP, for which `over_http.mjs`
// is loaded first; an `sse` then makes every answer a stream.

import { appendFileSync } from "node:fs";
import { createServer } from "node:http";

import { toNodeHandler } from "@modelcontextprotocol/node";
import { McpServer, ResourceTemplate, completable, createMcpHandler, inputRequired } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

// Write down what happens, for the test to wait for.
function note(fact, more) {
  appendFileSync(process.env.CASE_LOG, JSON.stringify({ fact, pid: process.pid, ...more }) + "\n");
}

function text(said) {
  return { content: [{ type: "text", text: said }] };
}

// A tool that asks once and says what came.
function asking(server, name, request, say) {
  server.registerTool(name, {}, async (ctx) => {
    const answer = ctx.mcpReq.inputResponses?.answer;
    if (answer === undefined) {
      return inputRequired({ inputRequests: { answer: request }, requestState: name });
    }
    return text(say(answer));
  });
}

function make() {
  const server = new McpServer(
    { name: "peer", version: "2" },
    { instructions: "Use it.", capabilities: { resources: { subscribe: true, listChanged: true }, tools: { listChanged: true } } },
  );

  server.registerTool(
    "add",
    {
      description: "Add two numbers.",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ result: z.number() }),
    },
    async ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { result: a + b } }),
  );
  server.registerTool("fails", {}, async () => {
    throw new Error("it broke");
  });
  server.registerTool("steps", { inputSchema: z.object({ count: z.number() }) }, async ({ count }, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let progress = 1; progressToken !== undefined && progress <= count; progress++) {
      const params = { progressToken, progress, total: count, message: `step ${progress}` };
      await ctx.mcpReq.notify({ method: "notifications/progress", params });
    }
    return text("done");
  });
  server.registerTool("slow", { inputSchema: z.object({ tag: z.string().default("") }) }, async ({ tag }, ctx) => {
    note("begun", { tag });
    await new Promise((resolve) => ctx.mcpReq.signal.addEventListener("abort", resolve));
    note("cancelled", { tag });
    return text("");
  });
  server.registerTool("change", { inputSchema: z.object({ uri: z.string() }) }, async ({ uri }) => {
    if (handler) {
      handler.notify.toolsChanged();
      handler.notify.resourceUpdated(uri);
    } else {
      await server.server.sendToolListChanged();
      await server.server.sendResourceUpdated({ uri });
    }
    return text("told");
  });

  const schema = z.object({ name: z.string() });
  asking(server, "ask_form", inputRequired.elicit({ message: "Your name?", requestedSchema: schema }), (answer) =>
    answer.action === "accept" ? `form: ${answer.content.name}` : `form: ${answer.action}`,
  );
  asking(
    server,
    "ask_url",
    inputRequired.elicitUrl({ message: "Go there", url: "https://example.test/" }),
    (answer) => `url: ${answer.action}`,
  );
  const said = { role: "user", content: { type: "text", text: "A word?" } };
  asking(
    server,
    "ask_model",
    inputRequired.createMessage({ messages: [said], maxTokens: 5 }),
    (answer) => `model: ${answer.content.text}`,
  );
  asking(server, "ask_roots", inputRequired.listRoots(), (answer) => `roots: ${answer.roots[0].uri}`);

  server.registerResource("today", "notes://today", {}, async (uri) => ({
    contents: [{ uri: uri.href, text: "today" }],
  }));
  const template = new ResourceTemplate("notes://{name}/one", { list: undefined });
  server.registerResource("one", template, {}, async (uri, { name }) => ({
    contents: [{ uri: uri.href, text: `of ${name}` }],
  }));
  const code = completable(z.string(), (value) => [`${value}0`, `${value}1`]);
  server.registerPrompt("review", { argsSchema: z.object({ code }) }, ({ code }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Review: ${code}` } }],
  }));
  return server;
}

note("start");
process.on("exit", () => note("end")); // not after a signal
const how = process.argv.slice(2);
const handler = how.includes("http") && createMcpHandler(make, {
  legacy: how.includes("reject") ? "reject" : "stateless",
  responseMode: how.includes("sse") ? "sse" : "auto",
});
if (handler) {
  createServer(toNodeHandler(handler)).listen();
} else {
  serveStdio(make, { legacy: how.includes("reject") ? "reject" : "serve" });
}
