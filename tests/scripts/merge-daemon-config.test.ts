import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

const script = join(import.meta.dirname, "../../scripts/merge-daemon-config.mjs");
const ours = { path: "/opt/runsc", runtimeArgs: ["--host-uds=open", "--network=none"] };

function merge(old: string, ...more: string[]) {
  const args = [script, "--runsc", "/opt/runsc", "--need=--host-uds=open", ...more, "--", "--network=none"];
  return spawnSync(process.execPath, args, { input: old, encoding: "utf8" });
}

test.each([
  ["no file yet", "", { runtimes: { runsc: ours } }],
  [
    "other keys and runtimes",
    '{"mtu":1400,"runtimes":{"other":{"path":"/bin/other"}}}',
    { mtu: 1400, runtimes: { other: { path: "/bin/other" }, runsc: ours } },
  ],
  [
    "a runsc with flags of its own, which keeps them and gets only what it needs",
    '{"runtimes":{"runsc":{"path":"runsc","runtimeArgs":["--platform=kvm"]}}}',
    { runtimes: { runsc: { path: "runsc", runtimeArgs: ["--platform=kvm", "--host-uds=open"] } } },
  ],
  [
    "a flag that is set already, in another spelling",
    '{"runtimes":{"runsc":{"path":"runsc","runtimeArgs":["-host-uds=all"]}}}',
    { runtimes: { runsc: { path: "runsc", runtimeArgs: ["-host-uds=all"] } } },
  ],
  [
    "a runsc that is no longer where it was",
    '{"runtimes":{"runsc":{"path":"/no/such/runsc"}}}',
    { runtimes: { runsc: { path: "/opt/runsc", runtimeArgs: ["--host-uds=open"] } } },
  ],
  [
    "a containerd shim, which is configured elsewhere",
    '{"runtimes":{"runsc":{"runtimeType":"io.containerd.runsc.v1"}}}',
    { runtimes: { runsc: { runtimeType: "io.containerd.runsc.v1" } } },
  ],
])("daemon.json is extended and never overwritten: %s", (_name, old, wanted) => {
  const { status, stdout } = merge(old);
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toEqual(wanted);
  expect(merge(stdout).stdout, "merging twice").toBe(stdout);
});

test("a runtime that an earlier version has registered gets the flag that has gVisor's kernel be nobody, once", () => {
  const before = { runtimes: { runsc: ours } };
  const after = { runtimes: { runsc: { ...ours, runtimeArgs: [...ours.runtimeArgs, "--directfs=false"] } } };
  const { stdout } = merge(JSON.stringify(before), "--need=--directfs=false");
  expect(JSON.parse(stdout)).toEqual(after);
  expect(merge(stdout, "--need=--directfs=false").stdout).toBe(stdout);
  const direct = { runtimes: { runsc: { ...ours, runtimeArgs: [...ours.runtimeArgs, "--directfs"] } } };
  expect(JSON.parse(merge(JSON.stringify(direct), "--need=--directfs=false").stdout)).toEqual(direct);
});

test("Docker's networks are switched off only when asked for", () => {
  expect(JSON.parse(merge("").stdout)).not.toHaveProperty("bridge");
  expect(JSON.parse(merge("", "--no-bridge").stdout)).toMatchObject({ iptables: false, bridge: "none" });
});

test.each(['{"runtimes":', "[]", '{"runtimes":[]}', '{"runtimes":"x"}'])(
  "a broken daemon.json is refused: %s",
  (old) => {
    const { status, stdout, stderr } = merge(old);
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
    expect(stderr).toMatch(/^daemon\.json .*correct it and try again\.\n$/);
  },
);
