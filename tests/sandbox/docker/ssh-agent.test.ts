import { execFile } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import Docker from "dockerode";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { dockerOptions } from "../../../sandbox/docker/docker-client.ts";
import { sshArguments } from "../../../sandbox/docker/ssh-agent.ts";
import { newFolder } from "../../temporary-folder.ts";

afterEach(() => void vi.unstubAllEnvs());

/** Puts a program in the place of `ssh`. */
function standIn(script: string): void {
  const path = newFolder();
  writeFileSync(join(path, "ssh"), `#!${process.execPath}\n${script}`);
  chmodSync(join(path, "ssh"), 0o755);
  vi.stubEnv("PATH", path);
}

function clientOf(host: string): Docker {
  return new Docker(dockerOptions({ host, source: "a test" }));
}

test.each([
  ["a host", { hostname: "build.example" }, "-- build.example docker system dial-stdio"],
  [
    "a user, a port and a socket",
    { hostname: "build.example", port: "2022", user: "me", socketPath: "/run/x.sock" },
    "-l me -p 2022 -- build.example docker --host unix:///run/x.sock system dial-stdio",
  ],
  [
    "a host that looks like an option",
    { hostname: "-oProxyCommand=x" },
    "-- -oProxyCommand=x docker system dial-stdio",
  ],
])("ssh is told %s", (_, target, end) => {
  const line = sshArguments(target).join(" ");
  expect(line).toBe(`-T -o BatchMode=yes -o ConnectTimeout=30 ${end}`);
});

test("an engine over SSH answers, takes connections over, and gets the next request on the same one", async () => {
  const socketPath = join(newFolder(), "engine.sock");
  let connections = 0;
  const server = createServer((_request, response) => void response.end('{"ID":"far"}'));
  server.on("connection", () => connections++);
  server.on("upgrade", (_request, socket) => {
    socket.write("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
    socket.on("data", (chunk: Buffer) => void socket.write(chunk.toString().toUpperCase()));
    socket.on("end", () => void socket.end());
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  onTestFinished(() => void server.close());
  standIn(
    `const socket = require("node:net").connect(${JSON.stringify(socketPath)});
     process.stdin.pipe(socket).pipe(process.stdout);`,
  );
  const docker = clientOf("ssh://me@far.example");
  expect(await docker.info()).toEqual({ ID: "far" });
  expect(await docker.info()).toEqual({ ID: "far" });
  expect(connections).toBe(1);
  const attached = await docker.getContainer("c").attach({ stream: true, stdin: true, hijack: true });
  const text = "x".repeat(300_000);
  let answer = "";
  attached.on("data", (chunk: Buffer) => {
    answer += chunk.toString();
  });
  attached.end(text);
  await new Promise((resolve) => attached.once("end", resolve));
  expect(answer).toBe(text.toUpperCase());
});

test.each([
  [
    "refuses",
    'process.stderr.write("Permission denied (publickey).\\n"); process.exit(255);',
    "ssh ended with 255: Permission denied (publickey).",
  ],
  ["is silent", "process.exit(1);", "ssh ended with 1: it says nothing"],
])("what ssh says is told where it %s", async (_, script, message) => {
  standIn(script);
  await expect(clientOf("ssh://far.example").info()).rejects.toThrow(message);
});

test("a machine without ssh is told", async () => {
  vi.stubEnv("PATH", "/nowhere");
  await expect(clientOf("ssh://far.example").info()).rejects.toThrow("ssh cannot be started");
});

test("a connection that no request uses keeps no process alive", async () => {
  const socketPath = join(newFolder(), "engine.sock");
  const server = createServer((_request, response) => void response.end('{"ID":"far"}'));
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  standIn(
    `const socket = require("node:net").connect(${JSON.stringify(socketPath)});
     process.stdin.pipe(socket).pipe(process.stdout);`,
  );
  const module = join(import.meta.dirname, "../../../sandbox/docker/docker-client.ts");
  const program = `
    import Docker from "dockerode";
    const { dockerOptions } = await import(${JSON.stringify(module)});
    const docker = new Docker(dockerOptions({ host: "ssh://me@far.example", source: "a test" }));
    console.log((await docker.info()).ID, (await docker.info()).ID);`;
  const flags = ["--input-type=module", "--eval", program];
  const { stdout } = await promisify(execFile)(process.execPath, flags, { cwd: import.meta.dirname });
  expect(stdout).toBe("far far\n");
});
