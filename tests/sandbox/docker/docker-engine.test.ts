import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import Docker from "dockerode";
import { expect, onTestFinished, test } from "vitest";
import { RUNNER_STARTS } from "../../../languages/languages.ts";
import { buildContainerRequest } from "../../../sandbox/docker/container-profile.ts";
import { DockerEngine } from "../../../sandbox/docker/docker-engine.ts";
import { DockerSandboxEngine, OWNER_LABEL } from "../../../sandbox/docker/docker-sandbox-engine.ts";
import { newFolder } from "../../temporary-folder.ts";
import { NO_OUTPUT } from "../outputs.ts";

const REQUEST = buildContainerRequest({
  image: "sha256:1",
  runtime: "runsc",
  start: RUNNER_STARTS.javascript,
  limits: { memoryMb: 128, cpus: 1, pids: 64 },
  socketDirectory: "/nowhere",
  labels: {},
});

type Answer = (response: ServerResponse) => void;
const json =
  (status: number, body: unknown): Answer =>
  (response) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
/** Says that the answer is on its way, as the engine does, and nothing more. */
const onItsWay: Answer = (response) =>
  response.writeHead(200, { "content-type": "application/json" }).flushHeaders();

/** An engine on a socket, which answers as the test says; by method and end of path. */
async function fakeDocker(
  answers: Record<string, Answer>,
): Promise<{ engine: DockerEngine; server: Server; attached: Duplex[]; asked: URLSearchParams[] }> {
  const attached: Duplex[] = [];
  const asked: URLSearchParams[] = [];
  const socketPath = join(newFolder(), "docker.sock");
  const server = createServer((request, response) => {
    request.resume();
    const { pathname, searchParams } = new URL(request.url ?? "", "http://docker");
    asked.push(searchParams);
    const condition = searchParams.get("condition");
    const name = `${request.method} ${pathname.split("/").at(-1)}${condition === null ? "" : ` ${condition}`}`;
    (answers[name] ?? json(500, { message: `not expected: ${name}` }))(response);
  });
  // Attaching is for both directions, so that the connection itself is taken over.
  server.on("upgrade", (_request, socket: Duplex) => {
    attached.push(socket);
    socket.on("error", () => {});
    socket.write("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  onTestFinished(() => {
    for (const socket of attached) socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  return { engine: new DockerEngine(new Docker({ socketPath })), server, attached, asked };
}

const STARTS = {
  "POST create": json(201, { Id: "c1" }),
  "POST wait next-exit": onItsWay,
  "POST wait removed": onItsWay,
  "POST start": json(204, {}),
};

test("an engine that goes away is noticed, though it still owes answers", async () => {
  const { engine, server, attached } = await fakeDocker(STARTS);
  const container = await engine.start(REQUEST, NO_OUTPUT);
  const ends = Promise.allSettled([container.exited, container.removed()]);
  server.close();
  server.closeAllConnections();
  for (const socket of attached) socket.destroy();
  container.pause();
  const gone = { status: "rejected", reason: { name: "SandboxError", code: "engine_unreachable" } };
  expect(await ends).toMatchObject([gone, gone]);
});

test("an engine that comes back without the container, or with an ended one, says what became of it", async () => {
  let seen: Answer = json(200, { State: { Running: true, ExitCode: 0 } });
  const { engine, server, attached } = await fakeDocker({
    ...STARTS,
    "GET json": (response) => {
      seen(response);
      seen = json(200, { State: { Running: false, ExitCode: 7 } });
    },
  });
  const container = await engine.start(REQUEST, NO_OUTPUT);
  attached[0]?.end();
  expect(await container.exited).toEqual({ code: 7 });
  seen = json(404, { message: "no such container" });
  await container.removed();
  // No wait request keeps the process from ending.
  attached[0]?.destroy();
  await expect
    .poll(() => new Promise((resolve) => server.getConnections((_, count) => resolve(count))))
    .toBe(0);
});

test("a container that cannot be started does not stay behind", async () => {
  const removed: string[] = [];
  const { engine } = await fakeDocker({
    ...STARTS,
    "POST start": json(400, { message: "unknown runtime" }),
    "DELETE c1": (response) => {
      removed.push("c1");
      json(204, {})(response);
    },
  });
  await expect(engine.start(REQUEST, NO_OUTPUT)).rejects.toMatchObject({ code: "runtime_missing" });
  expect(removed).toEqual(["c1"]);
});

test.each([
  [204, false],
  [404, false],
  [409, false],
  [500, true],
])("what has gone is ended already: an engine that answers %i has failed: %s", async (status, hasFailed) => {
  const answer = status === 204 ? json(204, {}) : json(status, { message: "no" });
  const { engine } = await fakeDocker({ ...STARTS, "DELETE c1": answer, "POST kill": answer });
  const container = await engine.start(REQUEST, NO_OUTPUT);
  const failed = { status: "rejected", reason: expect.objectContaining({ code: "engine_unreachable" }) };
  const done = { status: "fulfilled", value: undefined };
  const ended = await Promise.allSettled([engine.remove("c1"), container.kill()]);
  expect(ended).toEqual(hasFailed ? [failed, failed] : [done, done]);
});

test("an image without what guards a sandbox is told from a missing runtime", async () => {
  const message =
    "OCI runtime start failed: creating process: failed to load /usr/bin/perl: no such file or directory: unknown";
  const { engine } = await fakeDocker({
    ...STARTS,
    "POST start": json(400, { message }),
    "DELETE c1": json(204, {}),
  });
  await expect(engine.start(REQUEST, NO_OUTPUT)).rejects.toMatchObject({
    code: "start_failed",
    message: expect.stringContaining("ptc image build"),
  });
});

test("a container is told to pause, to be cleared and to go on, and is left by closing what it reads", async () => {
  const { engine, attached } = await fakeDocker(STARTS);
  const container = await engine.start(REQUEST, NO_OUTPUT);
  const said = attached[0] === undefined ? Promise.resolve("nothing attached") : text(attached[0]);
  container.pause();
  container.clear();
  container.resume();
  container.leave();
  container.resume();
  expect(await said).toBe("pkr");
});

test("the sandboxes of all ptc processes are listed with whose they are", async () => {
  const { engine, asked } = await fakeDocker({
    "GET json": json(200, [
      { Id: "c1", Labels: { [OWNER_LABEL]: "me", other: "x" } },
      { Id: "c2", Labels: {} },
    ]),
  });
  const sandboxes = new DockerSandboxEngine(engine, { folder: newFolder(), runners: RUNNER_STARTS });
  expect(await sandboxes.list()).toEqual([
    { id: "c1", owner: "me" },
    { id: "c2", owner: "" },
  ]);
  expect(asked.map((query) => Object.fromEntries(query))).toEqual([
    { all: "true", filters: JSON.stringify({ label: [OWNER_LABEL] }) },
  ]);
});

test("the rights of a sandbox's kernel are told where its process can be seen from this machine", async () => {
  const id = "ab".repeat(32);
  // It waits for its input to end, under the name of gVisor's kernel.
  const kernel = spawn("/bin/sh", ["-c", "echo; read line", id], { argv0: "runsc-sandbox" });
  onTestFinished(() => void kernel.kill("SIGKILL"));
  await once(kernel.stdout, "data");
  let pid = kernel.pid;
  const { engine } = await fakeDocker({
    "GET json": (response) => json(200, { Id: id, State: { Pid: pid } })(response),
  });
  const sandboxes = new DockerSandboxEngine(engine, { folder: newFolder(), runners: RUNNER_STARTS });
  expect(await sandboxes.keepsKernelUnprivileged(id)).toBe(process.getuid?.() !== 0);
  pid = process.pid;
  expect(await sandboxes.keepsKernelUnprivileged(id)).toBeUndefined();
});
