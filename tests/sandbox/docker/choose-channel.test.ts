import { expect, test } from "vitest";
import { chooseChannel, isEngineElsewhere } from "../../../sandbox/docker/choose-channel.ts";

const HERE = { platform: "linux", name: "laptop", kernel: "6.1.0" } as const;
const SITUATION = {
  preference: "auto",
  host: "unix:///var/run/docker.sock",
  machine: { name: "laptop", kernel: "6.1.0", operatingSystem: "Debian GNU/Linux 12" },
  runtime: ["runsc", { path: "/usr/bin/runsc", runtimeArgs: ["--host-uds=open"] }],
} as const;

test("an engine of this machine mounts a socket", () => {
  const channel = chooseChannel(SITUATION, HERE);
  expect(channel).toEqual({ kind: "socket", why: "the engine is on this machine" });
});

const machine = (more: object) => ({ machine: { ...SITUATION.machine, ...more } });

test.each([
  ["over TCP", { host: "tcp://127.0.0.1:2376" }, HERE, /over a network/],
  ["over SSH", { host: "ssh://me@far.example" }, HERE, /over a network/],
  ["of macOS", {}, { ...HERE, platform: "darwin" } as const, /in a virtual machine/],
  ["of Windows", { host: "npipe:////./pipe/docker_engine" }, HERE, /over a network/],
  [
    "of Docker Desktop",
    machine({ operatingSystem: "Docker Desktop" }),
    HERE,
    /virtual machine \(Docker Desktop\)/,
  ],
  [
    "of Lima or Colima",
    machine({ name: "lima-docker", kernel: "6.8.0" }),
    HERE,
    /its kernel is 6\.8\.0, not 6\.1\.0/,
  ],
  ["outside of ptc's container", machine({ name: "host" }), HERE, /its name is host, not laptop/],
  [
    "whose runtime lets no sandbox open a socket",
    { runtime: ["runsc", { path: "/usr/bin/runsc", runtimeArgs: [] }] as const },
    HERE,
    /without the flag --host-uds=open/,
  ],
])("an engine %s is spoken to over stdin and stdout, and it is said why", (_, more, here, why) => {
  const channel = chooseChannel({ ...SITUATION, ...more }, here);
  expect(channel).toEqual({ kind: "attached", why: expect.stringMatching(why) });
});

test.each([
  ["of this machine", {}, HERE, false],
  ["of this machine, over TCP", { host: "tcp://127.0.0.1:2376" }, HERE, false],
  ["of this machine, outside of ptc's container", machine({ name: "host" }), HERE, false],
  ["of Docker Desktop", machine({ operatingSystem: "Docker Desktop", kernel: "6.8.0" }), HERE, false],
  ["of macOS", machine({ kernel: "6.8.0" }), { ...HERE, platform: "darwin" } as const, false],
  ["over SSH from macOS", { host: "ssh://me@far" }, { ...HERE, platform: "darwin" } as const, true],
  ["over SSH", { host: "ssh://me@far", ...machine({ name: "far" }) }, HERE, true],
  ["over a forwarded socket", machine({ name: "far", kernel: "6.8.0" }), HERE, true],
])("an engine %s uses the processors of that machine", (_, more, here, isElsewhere) => {
  expect(isEngineElsewhere({ ...SITUATION, ...more }, here)).toBe(isElsewhere);
});

test.each(["socket", "attached"] as const)("sandbox.channel decides where it says %s", (preference) => {
  const far = { ...SITUATION, host: "tcp://10.0.0.1:2376", preference };
  expect(chooseChannel(far, HERE).kind).toBe(preference);
});
