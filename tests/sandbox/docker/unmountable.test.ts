import { readdirSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { RUNNER_STARTS } from "../../../languages/languages.ts";
import { DockerSandboxEngine } from "../../../sandbox/docker/docker-sandbox-engine.ts";
import type { ChannelPreference } from "../../../sandbox/sandbox-engine.ts";
import { SandboxError } from "../../../sandbox/sandbox-error.ts";
import { newFolder } from "../../temporary-folder.ts";
import { NO_OUTPUT } from "../outputs.ts";
import { FakeEngine } from "../pool/fake-engine.ts";

const REQUEST = {
  image: "sha256:1",
  runtime: "runsc",
  runner: "javascript" as const,
  limits: { memoryMb: 128, cpus: 1, pids: 64 },
  owner: "test",
};

/** An engine that looks like this machine's, and sees another file system. */
function open(preference: ChannelPreference) {
  const folder = newFolder();
  const containers = new FakeEngine();
  const options = { folder, runners: RUNNER_STARTS, channel: preference };
  const sandboxes = new DockerSandboxEngine(containers, options);
  const runtimes = new Map([["runsc", { channel: { kind: "socket" as const, why: "" } }]]);
  const described = { version: "", identity: "", profile: "", endpoint: "", runtimes };
  vi.spyOn(sandboxes, "describe").mockResolvedValue(described);
  const channels: string[] = [];
  vi.spyOn(containers, "start").mockImplementation(async ({ Entrypoint, HostConfig: { Mounts } }) => {
    channels.push(Entrypoint.includes("--attached") ? "attached" : "socket");
    const message = 'Docker: invalid mount config for type "bind": bind source path does not exist: /x';
    if (Mounts.length > 1) throw new SandboxError("start_failed", message);
    throw new SandboxError("start_failed", "something else");
  });
  return { sandboxes, channels, folder };
}

test("an engine that turns out to mount nothing of this machine gets the other channel, from then on", async () => {
  const { sandboxes, channels, folder } = open("auto");
  for (let i = 0; i < 2; i++) {
    await expect(sandboxes.start(REQUEST, NO_OUTPUT)).rejects.toThrow("something else");
  }
  expect(channels).toEqual(["socket", "attached", "attached"]);
  expect(readdirSync(folder)).toEqual([]);
});

test("a socket that the configuration asks for is not replaced", async () => {
  const { sandboxes, channels } = open("socket");
  await expect(sandboxes.start(REQUEST, NO_OUTPUT)).rejects.toThrow("bind source path does not exist");
  expect(channels).toEqual(["socket"]);
});
