import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { projectFromSources } from "./in-process.ts";
import { fixtureServer } from "./ptc-process.ts";

const canMount = process.getuid?.() === 0 && spawnSync("unshare", ["-m", "true"]).status === 0;
const WITHOUT_ROOT = canMount ? "" : " (skipped: only root can give a process a folder /etc of its own)";

describe.skipIf(!canMount)(`managed settings at their place on Linux${WITHOUT_ROOT}`, () => {
  /** A project, and a ptc for which alone /etc holds these managed settings. */
  function managed(text: string) {
    const etc = mkdtempSync(join(tmpdir(), "ptc-etc-"));
    onTestFinished(() => rmSync(etc, { recursive: true, force: true }));
    execFileSync("chmod", ["755", etc]);
    for (const name of ["passwd", "group", "hosts", "nsswitch.conf", "ssl"])
      cpSync(join("/etc", name), join(etc, name), { recursive: true, force: true, verbatimSymlinks: true });
    mkdirSync(join(etc, "ptc"), { mode: 0o755 });
    const file = join(etc, "ptc/managed.yaml");
    writeFileSync(file, text, { mode: 0o644 });
    const project = projectFromSources({
      "ptc.yaml": {
        servers: [fixtureServer("docs", "documents.mjs"), fixtureServer("shell", "env-dump.mjs")],
        approvals: { allow: ["*"] },
        archive: { keep_days: 1 },
      },
      "else.yaml": { servers: [], archive: { keep_days: 2 } },
    });
    const ptc = (args: string[], env: Record<string, string> = {}) => {
      const words = ["-m", "sh", "-c", 'mount --bind "$1" /etc && shift && exec "$@"', "sh", etc];
      const { status, stdout, stderr } = spawnSync("unshare", [...words, ...project.command(args)], {
        cwd: project.directory,
        env: { ...process.env, ...project.env, PTC_KEYRING: "off", PTC_HOST: "off", ...env },
        encoding: "utf8",
      });
      return { code: status, stdout, stderr };
    };
    return { file, ptc };
  }

  test("hold for every command, are told by doctor, and no option or variable gets around them", () => {
    const { ptc } = managed(
      "servers: { block: [{ name: shell }] }\ntools: { block: ['mcp__docs__delete_*'] }\napprovals: { ask: [mcp__docs__get_document] }\narchive: { keep_days: 90 }\n",
    );
    const held = (days: number, file: string) =>
      `ptc: warning: ${file}: archive.keep_days: ${days} does not count: managed settings (/etc/ptc/managed.yaml) hold it to 90`;
    const generated = ptc(["generate"]);
    expect(generated.stderr).toContain(held(1, "ptc.yaml"));
    expect(ptc(["list"]).stdout).not.toMatch(/delete_document|deleteDocument/);
    const off = "managed settings do not allow it (/etc/ptc/managed.yaml: servers.block)";
    expect(JSON.parse(ptc(["list", "--json"]).stdout)).toContainEqual(
      expect.objectContaining({ server: "shell", off }),
    );
    const asked = ptc(["call", "docs.get_document", "documentId=a"]);
    expect(asked.stderr).toContain("needs an approval and nobody can be asked here");
    expect(asked.stderr).toContain(held(1, "ptc.yaml"));
    const blocked = ptc(["call", "docs.delete_document", "documentId=a"]);
    expect(blocked.stderr).toContain("is not available");
    for (const [args, env] of [
      [["doctor", "--config", "else.yaml"], {}],
      [["doctor"], { PTC_CONFIG: "else.yaml", PTC_MANAGED: "/dev/null" }],
    ] as const) {
      const { stdout } = ptc([...args], env);
      expect(stdout).toMatch(
        /managed settings\s+\/etc\/ptc\/managed\.yaml is in force: tools, approvals, servers, archive/,
      );
      expect(stdout).toMatch(/else\.yaml: archive\.keep_days: 2 does not count/);
    }
  });

  test("hold for what ptc does beside programs: a server that is added, an image that is built, runs that are deleted", () => {
    const { ptc } = managed(
      "servers: { allow: [{ name: docs }] }\nsandbox: { engine: 'unix:///nowhere/docker.sock' }\narchive: { keep_days: 90 }\n",
    );
    const added = ptc(["add", "mine", "--", "touch", "started"]);
    expect(added.code).toBe(1);
    expect(added.stderr).toContain("managed settings do not allow it (/etc/ptc/managed.yaml: servers.allow)");
    expect(ptc(["image", "build"], { DOCKER_HOST: "unix:///else/docker.sock" }).stderr).toContain(
      "/nowhere/docker.sock",
    );
    for (const args of [["--keep-days", "89"], ["0123456789abcdef"]])
      expect(ptc(["runs", "prune", ...args])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(
          "ptc: managed settings (/etc/ptc/managed.yaml) keep runs for 90 days; `ptc runs prune` alone deletes older ones\n",
        ),
      });
    expect(ptc(["runs", "prune", "--keep-days", "90"])).toMatchObject({ code: 0 });
  });

  test("that somebody else could have written keep ptc from running, in one line", () => {
    const { file, ptc } = managed("");
    execFileSync("chown", ["65534", file]);
    for (const args of [
      ["list"],
      ["call", "docs.get_document"],
      ["run", "x.ts"],
      ["generate"],
      ["serve"],
      ["approvals", "list"],
    ])
      expect(ptc(args)).toEqual({
        code: 2,
        stdout: "",
        stderr:
          "ptc: /etc/ptc/managed.yaml: is not owned by root; ptc runs nothing until the administrator of this machine corrects that\n",
      });
    expect(ptc(["doctor"]).stdout).toContain("/etc/ptc/managed.yaml: is not owned by root");
  });
});
