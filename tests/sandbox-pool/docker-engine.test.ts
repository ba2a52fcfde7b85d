import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Docker from "dockerode";
import { expect, onTestFinished, test } from "vitest";
import { buildContainerRequest } from "../../sandbox/container-profile.ts";
import { DockerEngine } from "../../sandbox/docker-engine.ts";

const NO_OUTPUT = { onStdout() {}, onStderr() {} };
const REQUEST = buildContainerRequest({
  image: "sha256:1",
  runtime: "runsc",
  limits: { memoryMb: 128, cpus: 1, pids: 64 },
  socketDirectory: "/nowhere",
  emptyFile: "/nowhere/empty",
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
): Promise<{ engine: DockerEngine; server: Server }> {
  const directory = mkdtempSync(join(tmpdir(), "ptc-d-"));
  const socketPath = join(directory, "docker.sock");
  const server = createServer((request, response) => {
    request.resume();
    const { pathname, searchParams } = new URL(request.url ?? "", "http://docker");
    const condition = searchParams.get("condition");
    const name = `${request.method} ${pathname.split("/").at(-1)}${condition === null ? "" : ` ${condition}`}`;
    (answers[name] ?? json(500, { message: `not expected: ${name}` }))(response);
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return { engine: new DockerEngine(new Docker({ socketPath })), server };
}

const STARTS = {
  "POST create": json(201, { Id: "c1" }),
  "POST attach": onItsWay,
  "POST wait next-exit": onItsWay,
  "POST wait removed": onItsWay,
  "POST start": json(204, {}),
};

test("an engine that goes away is noticed, though it still owes answers", async () => {
  const { engine, server } = await fakeDocker(STARTS);
  const container = await engine.start(REQUEST, NO_OUTPUT);
  const ends = Promise.allSettled([container.exited, container.removed()]);
  server.close();
  server.closeAllConnections();
  const gone = { status: "rejected", reason: { name: "SandboxError", code: "engine_unreachable" } };
  expect(await ends).toMatchObject([gone, gone]);
});

test("an engine that comes back without the container, or with an ended one, says what became of it", async () => {
  let seen: Answer = json(200, { State: { Running: true, ExitCode: 0 } });
  let attached: ServerResponse | undefined;
  const { engine } = await fakeDocker({
    ...STARTS,
    "POST attach": (response) => {
      attached = response;
      onItsWay(response);
    },
    "GET json": (response) => {
      seen(response);
      seen = json(200, { State: { Running: false, ExitCode: 7 } });
    },
  });
  const container = await engine.start(REQUEST, NO_OUTPUT);
  attached?.end();
  expect(await container.exited).toEqual({ code: 7 });
  seen = json(404, { message: "no such container" });
  await container.removed();
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
