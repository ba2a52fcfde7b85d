import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { describeMachine, type Machine, parseOsRelease } from "../../../project/setup/machine.ts";
import { planSetup, planUndo, type SetupPlan } from "../../../project/setup/plan-setup.ts";
import { findDockerEndpoint } from "../../../sandbox/docker/docker-endpoint.ts";
import { newFolder } from "../../temporary-folder.ts";

const SCRIPTS = join(import.meta.dirname, "../../../scripts");
const FILES = { engine: "ENGINE", gvisor: "GVISOR", lima: "LIMA" };

interface Case {
  name: string;
  platform?: NodeJS.Platform;
  os_release?: string;
  commands: string[];
  root?: boolean;
  wsl?: boolean;
  steps: string[];
  advice?: string;
}
const CASES = parse(readFileSync(join(import.meta.dirname, "machines.yaml"), "utf8")) as Case[];

const machineOf = ({
  platform = "linux",
  os_release = "",
  commands,
  root = false,
  wsl = false,
}: Case): Machine => ({
  ...{ platform, distribution: parseOsRelease(os_release), isWsl: wsl, isRoot: root },
  commands: new Set(commands),
});
const commandsOf = ({ steps }: SetupPlan) => steps.map(({ command }) => command.join(" "));

describe("what ptc setup does", () => {
  it.each(CASES)("on $name", (each) => {
    const plan = planSetup(machineOf(each), FILES);
    expect(commandsOf(plan)).toEqual(each.steps);
    expect(plan.advice.join("\n")).toContain(each.advice ?? "");
  });

  it.each(CASES)("takes back what it does on $name", (each) => {
    const done = new Set([...each.commands, "limactl"]);
    const undone = commandsOf(planUndo({ ...machineOf(each), commands: done }, FILES)).join("\n");
    for (const [step, undo] of [
      ["ENGINE", "ENGINE --undo"],
      ["GVISOR", "GVISOR --undo"],
      ["LIMA", "limactl delete --force ptc"],
    ] as const)
      if (each.steps.some((done) => done.endsWith(step))) expect(undone).toContain(undo);
  });

  it("takes gVisor's own release back before the notes of what else was done", () => {
    const fedora = CASES.find(
      ({ os_release, steps }) => os_release?.includes("ID=fedora") && steps.length > 0,
    );
    const undone = commandsOf(planUndo(machineOf(fedora ?? (CASES[0] as Case)), FILES));
    expect(undone.map((each) => each.replace(/.* sh /, ""))).toEqual(["GVISOR --undo", "ENGINE --undo"]);
  });
});

describe("what a machine is", () => {
  it("is read from its own files and its PATH", () => {
    const root = newFolder();
    mkdirSync(join(root, "etc"));
    mkdirSync(join(root, "proc/sys/kernel"), { recursive: true });
    mkdirSync(join(root, "bin"));
    writeFileSync(join(root, "etc/os-release"), "ID=fedora\nPRETTY_NAME='Fedora 42'\n");
    writeFileSync(join(root, "proc/sys/kernel/osrelease"), "6.6.87.2-microsoft-standard-WSL2\n");
    writeFileSync(join(root, "bin/dnf"), "", { mode: 0o755 });
    writeFileSync(join(root, "bin/runsc"), "", { mode: 0o644 });
    expect(describeMachine({ PATH: `:${join(root, "bin")}` }, root)).toMatchObject({
      distribution: { id: "fedora", like: [], title: "Fedora 42" },
      isWsl: true,
      commands: new Set(["dnf"]),
    });
  });

  it.each(["ID=$(reboot)\n", 'ID="de bian"\n', "NAME=x\n", "\u0000"])(
    "is unknown where os-release says %j",
    (text) => {
      expect(parseOsRelease(text)).toBeUndefined();
    },
  );
});

describe("the virtual machine for a Mac", () => {
  const text = readFileSync(join(SCRIPTS, "lima.yaml"), "utf8");
  const lima = parse(text) as {
    mounts: unknown[];
    provision: { mode: string; script: string }[];
    probes: { script: string }[];
    portForwards: { guestSocket: string; hostSocket: string }[];
  };

  it("mounts nothing of the Mac, and has scripts that a shell can read", () => {
    expect(lima.mounts).toEqual([]);
    const scripts = [...lima.provision, ...lima.probes].map(({ script }) => script);
    expect(scripts).toHaveLength(2);
    for (const script of scripts) {
      const { status, stderr } = spawnSync("sh", ["-n"], { input: script, encoding: "utf8" });
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    }
  });

  it("registers gVisor with the flags that ptc needs, in a daemon.json that is JSON", () => {
    const [, json = ""] = /<<'JSON'\n([\s\S]*?)\nJSON/.exec(lima.provision[0]?.script ?? "") ?? [];
    const args = [
      "merge-daemon-config.mjs",
      "--runsc",
      "/usr/local/bin/runsc",
      "--need=--host-uds=open",
      "--",
    ];
    const merged = execFileSync(process.execPath, args, { cwd: SCRIPTS, input: json, encoding: "utf8" });
    expect(JSON.parse(merged)).toEqual(JSON.parse(json));
    expect(JSON.parse(json).runtimes.runsc.runtimeArgs).toContain("--network=none");
  });

  it("takes the same release of gVisor, checked in the same way, as the script for Linux", () => {
    const script = readFileSync(join(SCRIPTS, "setup-gvisor.sh"), "utf8");
    const [url = ""] = /url=\S+/.exec(script) ?? [];
    expect(url).toContain("gvisor/releases");
    expect(text).toContain(url);
    for (const each of [script, text]) expect(each).toContain("sha512sum -c runsc.sha512");
  });

  it("has its socket where ptc looks", () => {
    const [forward] = lima.portForwards;
    const socket = forward?.hostSocket.replace("{{.Dir}}", "/Users/me/.lima/ptc");
    expect(findDockerEndpoint({ HOME: "/Users/me" }, (path) => path === socket)).toMatchObject({
      host: `unix://${socket}`,
    });
  });
});
