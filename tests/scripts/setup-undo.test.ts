/** What the scripts of set-up take back, on a folder in place of a machine's root. apt is a script that says what it would remove. */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { newFolder } from "../temporary-folder.ts";

const SCRIPTS = join(import.meta.dirname, "../../scripts");
const RECORD = "var/lib/ptc/setup";
const NUKE = "var/lib/docker/nuke-graph-directory.sh";

/** As Debian's package of Docker does: it leaves a script when it is removed, and runs it when it is purged. */
const APT = `
echo "$*" >>"$ROOT/asked"
case " $* " in
  *" -s "*)
    for each; do case $each in
      docker.io | containerd) sed -n "s/^$each: //p" "$ROOT/needed" | tr ' ' '\\n' | sed 's/.*/Remv & [1.0]/'; echo "Remv $each [1.0]" ;;
      -* | remove | purge | *=*) ;;
      *) echo "Remv $each [1.0]" ;;
    esac; done ;;
  *" remove "*) echo "touch $ROOT/nuked" >"$ROOT/${NUKE}" ;;
  *" purge "*) touch "$ROOT/nuked" ;;
esac
`;

/** @param files what is on the machine besides commands. */
function machine(files: Record<string, string>) {
  const root = newFolder();
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    return join(root, path);
  };
  const commands = {
    "apt-get": APT,
    id: "echo 0",
    pidof: "exit 1",
    systemctl: "exit 0",
    docker: "exit 1",
    "dpkg-query": 'sed "s/^/installed /" "$ROOT/packages"',
  };
  for (const [name, text] of Object.entries(commands))
    chmodSync(write(`bin/${name}`, `#!/bin/sh\n${text}\n`), 0o755);
  write("needed", "");
  write("var/lib/docker/image", "");
  for (const [path, text] of Object.entries(files)) write(path, text);
  const run = (name: string, args: string[] = [], path = process.env.PATH) => {
    const script = readFileSync(join(SCRIPTS, name), "utf8").replaceAll(
      /(?<![\w/])\/(?=(?:etc|var|usr\/local|run)\/)/g,
      `${root}/`,
    );
    const env = { PATH: `${join(root, "bin")}:${path}`, ROOT: root };
    return spawnSync("/bin/sh", [write(`scripts/${name}`, script), ...args], { env, encoding: "utf8" });
  };
  const has = (path: string) => existsSync(join(root, path));
  return { run, has, root, write, read: (path: string) => readFileSync(join(root, path), "utf8") };
}

describe("what set-up takes back", () => {
  it("is Docker's package, and none of its images and volumes", () => {
    const noted = "docker.io\nrunsc\n";
    const { run, has, read } = machine({ [`${RECORD}/packages`]: noted, packages: `bash\n${noted}` });
    expect(run("setup-engine.sh", ["--undo"])).toMatchObject({
      ...{ status: 0, stderr: "", stdout: expect.stringContaining("is taken back") },
    });
    expect(read("asked")).toMatch(/^-qq .*remove -y .*docker\.io runsc$/m);
    expect([has("nuked"), has(NUKE), has(RECORD)]).toEqual([false, false, false]);
  });

  it("is no package that one from elsewhere needs by now, and stays noted", () => {
    const noted = "containerd\ndocker.io\nrunsc\n";
    const { run, read } = machine({
      ...{ [`${RECORD}/packages`]: noted, packages: `${noted}swarm\n` },
      needed: "docker.io: swarm\ncontainerd: docker.io swarm\n",
    });
    const { status, stdout } = run("setup-engine.sh", ["--undo"]);
    expect({ status, stdout }).toMatchObject({
      ...{ status: 0, stdout: expect.stringContaining("docker.io stays: swarm needs it") },
    });
    expect(read("asked").match(/^-qq .*/gm)).toEqual([expect.stringMatching(/ runsc$/)]);
    expect(read("asked")).not.toMatch(/^-qq .*docker\.io/m);
    expect(read(`${RECORD}/packages`)).toBe("containerd\ndocker.io\n");
  });

  it.each<[string, string | undefined]>([
    ["edited", '{ "mtu": 1400 }\n'],
    ["edited beside the runtime", '{ "mtu": 1400, "runtimes": { "runsc": { "path": "/opt/runsc" } } }\n'],
    ["deleted", undefined],
  ])("is nothing of a daemon.json that a person has %s between two set-ups", (_, edited) => {
    const { run, has, read, write, root } = machine({
      ...{ packages: "", "etc/os-release": "ID=debian\n", "etc/docker/daemon.json": "{}\n" },
      "scripts/merge-daemon-config.mjs": readFileSync(join(SCRIPTS, "merge-daemon-config.mjs"), "utf8"),
    });
    for (const name of ["runsc", "docker", "dockerd", "apt-get"])
      chmodSync(write(`bin/${name}`, "#!/bin/sh\n"), 0o755);
    const setUp = () => {
      // No daemon runs here that could read it.
      expect(run("setup-engine.sh").stderr).toContain("does not see the runsc");
      expect(read("etc/docker/daemon.json")).toContain("runtimeArgs");
    };
    setUp();
    if (edited === undefined) rmSync(join(root, "etc/docker/daemon.json"));
    else write("etc/docker/daemon.json", edited);
    setUp();
    expect(run("setup-engine.sh", ["--undo"]).status).toBe(0);
    expect(has("etc/docker/daemon.json") ? read("etc/docker/daemon.json") : undefined).toBe(edited);
  });

  it("is gVisor's own release, whichever script comes first", () => {
    const { run, has, root, write } = machine({ packages: "", "usr/local/bin/runsc": "runsc" });
    const target = join(root, "usr/local/bin/runsc");
    write(`${RECORD}/daemon.json.written`, "{}");
    write(`${RECORD}/runsc.sha512`, spawnSync("sha512sum", [target], { encoding: "utf8" }).stdout);
    expect(run("setup-engine.sh", ["--undo"]).status).toBe(0);
    expect(has("usr/local/bin/runsc")).toBe(true);
    expect(run("setup-gvisor.sh", ["--undo"]).stdout).toBe(`Removed ${target}.\n`);
    expect([has("usr/local/bin/runsc"), has("var/lib/ptc")]).toEqual([false, false]);
  });
});

it("setting gVisor up leaves a runsc alone that is no longer found by its name", () => {
  const { run, has, read } = machine({ "usr/local/bin/runsc": "of a person" });
  expect(run("setup-gvisor.sh", [], "").stdout).toBe("gVisor (runsc) is installed.\n");
  expect([read("usr/local/bin/runsc"), has(RECORD)]).toEqual(["of a person", false]);
});
