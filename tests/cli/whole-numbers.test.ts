import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
// @ts-expect-error: it is JavaScript, and has no types.
import { answerTo } from "../fixtures/servers/exact-numbers.mjs";
import { usePtcWithoutWalls } from "./in-process.ts";
import { fixtureServer, type Project } from "./ptc-process.ts";

const BIG = "1234567890123456789";
const newProject = usePtcWithoutWalls();

let http: Server;
let origin = "";
beforeAll(async () => {
  http = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    if (request.method !== "POST") return response.writeHead(405).end();
    const answer: string | undefined = answerTo(text);
    if (answer === undefined) return response.writeHead(202).end();
    const isStream = request.url === "/sse";
    response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
    return response.end(isStream ? `event: message\ndata: ${answer}\n\n` : answer);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => http.once("listening", resolve));
  origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});
afterAll(() => http.close());

async function projectWithServers(): Promise<Project> {
  const project = newProject();
  project.write("ptc.yaml", {
    servers: [
      fixtureServer("stdio", "exact-numbers.mjs"),
      { name: "json", transport: "http", url: `${origin}/json` },
      { name: "sse", transport: "http", url: `${origin}/sse` },
    ],
    sandbox: { warm: 0 },
    languages: ["typescript", "python"],
  });
  await project.generate();
  return project;
}

/** What a program comes to: the text of its result in the envelope. */
async function resultOf(project: Project, name: string, code: string, ...more: string[]): Promise<string> {
  project.write(name, code);
  const { stdout, stderr } = await project.ptc(["run", name, "--no-host", ...more]);
  const [, data] = /"ok":true,"data":(.*),"metrics":/.exec(stdout) ?? [];
  if (data === undefined) throw new Error(`${stdout}\n${stderr}`);
  return data;
}

describe("a whole number beyond 2^53", () => {
  const value = `{"id":${BIG},"list":[-9007199254740993,9007199254740992,1]}`;
  let project: Project;
  beforeAll(async () => {
    project = await projectWithServers();
  });

  test.each(["stdio", "json", "sse"])(
    "comes to and from a server over %s with all digits",
    async (server) => {
      const python = `
data = mcp__${server}__structured(value={"id": ${BIG}, "list": [-9007199254740993, 9007199254740992, 1]})
text = mcp__${server}__echo(value=data["value"]["id"])
wire = mcp__${server}__find(id=data["value"]["id"])
result = [data["value"], text, wire]`;
      expect(await resultOf(project, "p.py", python)).toBe(
        `[${value},{"value":${BIG}},"wire {\\"id\\":${BIG}}"]`,
      );
      const typescript = `
const { value } = await callTool("mcp__${server}__structured", { value: { id: ${BIG}n, list: [-9007199254740993n, 9007199254740992n, 1] } });
const text = await callTool("mcp__${server}__echo", { value: BigInt(value.id) });
const wire = await callTool("mcp__${server}__find", { id: value.id, ids: value.list, name: value.id, either: value.id, size: 1e21 });
globalThis.result = [value, text, wire, BigInt(value.id)];`;
      expect(await resultOf(project, "p.ts", typescript, "--typecheck", "off")).toBe(
        `[{"id":"${BIG}","list":["-9007199254740993","9007199254740992",1]},{"value":"${BIG}"},` +
          `"wire {\\"id\\":${BIG},\\"ids\\":[-9007199254740993,9007199254740992,1],\\"name\\":\\"${BIG}\\",\\"either\\":\\"${BIG}\\",\\"size\\":1e+21}",${BIG}]`,
      );
    },
  );

  test("is what `ptc call` sends, and what it prints", async () => {
    const call = async (...args: string[]) => (await project.ptc(["call", ...args])).stdout;
    expect(await call("mcp__stdio__find", `id=${BIG}`, `ids=[${BIG}]`)).toBe(
      `wire {"id":${BIG},"ids":[${BIG}]}\n`,
    );
    expect(await call("mcp__stdio__get")).toBe(`{"id":${BIG}}\n`);
    expect(await call("mcp__stdio__structured", `value=${BIG}`)).toBe(`{"value":${BIG}}\n`);
    // A replay runs the program that the call stands for.
    const listed = await project.ptc(["runs", "list", "--json", "--limit", "3"]);
    const runs = [...listed.stdout.matchAll(/"run_id":\s*"([^"]+)"/g)].map(([, run = ""]) => run);
    expect(runs).toHaveLength(3);
    for (const run of runs) expect(await project.ptc(["replay", run])).toMatchObject({ code: 0 });
  });

  test("is in data, in what is emitted, in the archive and in a replay", async () => {
    const data = `{"id":${BIG},"ids":[${BIG}]}`;
    const typescript = `
const found = await callTool("mcp__stdio__find", { id: data.id, ids: data.ids });
console.log(data.id, found);
globalThis.result = [data, BigInt(data.id), found];`;
    const found = `"wire {\\"id\\":${BIG},\\"ids\\":[${BIG}]}"`;
    expect(await resultOf(project, "d.ts", typescript, "--data", data)).toBe(
      `[{"id":"${BIG}","ids":["${BIG}"]},${BIG},${found}]`,
    );
    const listed = await project.ptc(["runs", "list", "--json", "--limit", "1"]);
    const [, run = ""] = /"run_id":\s*"([^"]+)"/.exec(listed.stdout) ?? [];
    const shown = await project.ptc(["runs", "show", run, "--json"]);
    expect(shown.stdout.replaceAll(/\s/g, "")).toContain(`"data":${data}`);
    expect(await project.ptc(["replay", run])).toMatchObject({ code: 0 });
    const python = `
found = mcp__stdio__find(id=data["id"], ids=data["ids"])
result = [data, data["id"] + 1, found]`;
    expect(await resultOf(project, "d.py", python, "--data", data)).toBe(
      `[${data},1234567890123456790,${found}]`,
    );
  });

  test.each([
    [
      "a literal in an argument",
      "await callTool('mcp__stdio__find', { id: 1234567890123456789 })",
      "typescript",
    ],
    [
      "a computed one",
      "await callTool('mcp__stdio__find', { ids: [1, Number('1234567890123456789')] })",
      "off",
    ],
  ])("is refused where JavaScript has rounded it: %s", async (_, code, check) => {
    project.write("r.ts", code);
    const flags = check === "off" ? ["--typecheck", "off"] : [];
    const { stdout, stderr } = await project.ptc(["run", "r.ts", "--no-host", ...flags]);
    expect(stdout + stderr).toMatch(/round/);
  });
});
