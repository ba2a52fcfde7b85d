import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../eventually.ts";
import { describeDocker } from "../sandbox/in-sandbox.ts";
import { newFolder } from "../temporary-folder.ts";

const ROOT = join(import.meta.dirname, "../..");
const TAG = "ptc-image-test";
const LANGUAGES = ["typescript", "python"];
/** Where Docker listens, for a container that is given it. */
const SOCKET = (process.env.DOCKER_HOST ?? "unix:///var/run/docker.sock").replace(/^unix:\/\//, "");
const docker = (...args: string[]) => execFileSync("docker", args, { encoding: "utf8", stdio: "pipe" });
/** As the chart runs it: another user than the image names, nothing to write to but two folders, no capability. */
const RESTRICTED = [
  ...["--read-only", "--user", "4242:4242", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"],
  ...["--network", "none", "--tmpfs", "/tmp:mode=1777", "--tmpfs", "/project:mode=1777"],
];

describeDocker("the image of ptc itself", () => {
  beforeAll(() => {
    execFileSync(process.execPath, ["scripts/image.ts", "--tag", TAG, "--local"], {
      cwd: ROOT,
      stdio: "ignore",
    });
  });
  afterAll(() => void docker("image", "rm", TAG));

  test("serves without root, without a file system to write to and without a capability, and ends on SIGTERM", async () => {
    const id = docker("run", "--detach", ...RESTRICTED, TAG).trim();
    try {
      const look =
        "fetch('http://127.0.0.1:8080/readyz').then(async (r) => console.log(r.status, await r.text()))";
      await eventually(() =>
        expect(docker("exec", id, "/usr/local/bin/node", "-e", look)).toBe("200 ready\n\n"),
      );
      docker("stop", "--time", "20", id);
      expect(docker("inspect", "-f", "{{.State.ExitCode}}", id).trim()).toBe("0");
    } finally {
      docker("rm", "--force", id);
    }
  });

  // A sandbox beside the container, by the engine's socket: the image has no engine of its own.
  test("checks, bundles and runs programs in either language with what is in it", () => {
    const folder = newFolder();
    const sandbox = { channel: "attached" };
    writeFileSync(join(folder, "ptc.yaml"), JSON.stringify({ servers: [], languages: LANGUAGES, sandbox }));
    writeFileSync(join(folder, "one.ts"), "const answer: number = 42; globalThis.result = answer;");
    writeFileSync(join(folder, "two.py"), "result = 42\n");
    const mounted = ["--user", "0", "-v", `${folder}:/project`, "-v", `${SOCKET}:/var/run/docker.sock`];
    const run = (...args: string[]) =>
      docker("run", "--rm", "--read-only", "--tmpfs", "/tmp", ...mounted, TAG, ...args);
    run("generate");
    for (const program of ["one.ts", "two.py"])
      expect(JSON.parse(run("run", program, "--json")).result).toMatchObject({ ok: true, data: 42 });
  });

  test("says which packages are in it, those too that are bundled", () => {
    const print = "process.stdout.write(require('fs').readFileSync('/opt/ptc/sbom.spdx.json'))";
    const sbom = JSON.parse(docker("run", "--rm", "--entrypoint", "/usr/local/bin/node", TAG, "-e", print));
    const names = (sbom.packages as { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["ptc", "typescript", "@kubernetes/client-node", "zod"]));
    expect(names).not.toContain("vitest");
  });
});
