/** The script that sets up Docker and gVisor, in a bare root of Debian: from nothing to a sandbox that starts, and back. */
import { execFile } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";

const SCRIPTS = join(import.meta.dirname, "../../scripts");
const ROOT = process.env.PTC_TEST_DEBIAN_ROOT ?? "";
const why = ROOT === "" ? " (skipped: PTC_TEST_DEBIAN_ROOT names no root of Debian)" : "";
const HERE = "/opt/ptc";

/** Runs a shell as root of that machine. */
async function inRoot(command: string): Promise<string> {
  const env = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root" };
  const script = join(import.meta.dirname, "in-debian-root.sh");
  const args = ["--mount", "--pid", "--fork", "sh", script, ROOT, "/bin/sh", "-c", command];
  const { stdout } = await promisify(execFile)("unshare", args, { env: { ...process.env, ...env } });
  return stdout;
}

/** Docker's package is removed and not purged, which would delete images: files of its configuration stay. */
const PACKAGES = "dpkg-query -W -f '${db:Status-Status} ${Package}\\n' | grep '^installed' | sort";

describe.skipIf(why !== "")(`setting Docker and gVisor up on a bare Debian${why}`, () => {
  beforeAll(() => {
    mkdirSync(join(ROOT, HERE), { recursive: true });
    for (const name of ["setup-engine.sh", "merge-daemon-config.mjs"])
      copyFileSync(join(SCRIPTS, name), join(ROOT, HERE, name));
    copyFileSync(realpathSync(process.execPath), join(ROOT, "usr/local/bin/node"));
    for (const file of ["/etc/resolv.conf", process.env.SSL_CERT_FILE ?? ""])
      if (existsSync(file)) {
        mkdirSync(dirname(join(ROOT, file)), { recursive: true });
        copyFileSync(file, join(ROOT, file));
      }
  });

  test("brings an engine that has gVisor and starts a sandbox, leaves it alone a second time, and takes all of it back", async () => {
    // A running daemon needs the namespaces that it was started in, so all of it is one command.
    const setUp = `sh ${HERE}/setup-engine.sh`;
    const said = await inRoot(
      [
        `set -e; ${PACKAGES} >/root/before; ls /etc/apt/sources.list.d >/root/sources`,
        `${setUp}; touch /var/lib/docker/kept; echo "== again"; ${setUp}`,
        "echo == runtimes; docker info --format '{{range $name, $_ := .Runtimes}}{{$name}} {{end}}'",
        `echo == undo; ${setUp} --undo`,
        `echo == left; ${PACKAGES} | diff /root/before - && ls /etc/apt/sources.list.d | diff /root/sources -; rm /var/lib/docker/kept`,
        `ls /etc/docker /var/lib/ptc 2>/dev/null || true; echo == undo again; ${setUp} --undo`,
      ].join("\n"),
    );
    const [first, again, runtimes, undo, left, undoAgain] = said.split(/^== .*\n/m);
    expect(first).toMatch(/^Docker .* with gVisor \(runsc\) is ready\.$/m);
    expect(first).not.toContain("Warning");
    expect(again).toMatch(/^Docker .* is ready\.\n$/);
    expect(runtimes).toContain("runsc");
    expect(undo).toContain("is taken back");
    expect(
      left
        ?.replace("key.json", "")
        .replaceAll(/\/etc\/docker:?/g, "")
        .trim(),
    ).toBe("");
    expect(undoAgain).toContain("has changed nothing here");
  });

  test("leaves a daemon.json alone that somebody has changed since", async () => {
    const said = await inRoot(
      [
        `set -e; sh ${HERE}/setup-engine.sh >/dev/null`,
        `node -e 'const fs = require("fs"), f = "/etc/docker/daemon.json"; fs.writeFileSync(f, JSON.stringify({ ...JSON.parse(fs.readFileSync(f)), mtu: 1400 }))'`,
        `sh ${HERE}/setup-engine.sh --undo; cat /etc/docker/daemon.json; rm -r /etc/docker`,
      ].join("\n"),
    );
    expect(said).toContain("was changed since, so it stays");
    expect(said).toContain('"mtu":1400');
  });

  test("is noted nowhere once it is taken back", () => {
    expect(existsSync(join(ROOT, "var/lib/ptc"))).toBe(false);
    expect(readFileSync(join(ROOT, "root/before"), "utf8")).not.toContain("docker");
  });
});
