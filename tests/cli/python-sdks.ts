import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { digestOf } from "../../protocol/canonical-json.ts";

/** Packages from PyPI, with all that decides about schemas and answers pinned. */
const RELEASES = {
  now: ["mcp==2.3.0", "fastmcp==4.1.2", "pydantic[email]==2.14.3"],
  older: ["mcp==1.30.0", "fastmcp==2.14.7", "pydantic[email]==2.14.3"],
} as const;

const INSTALL_MS = 10 * 60_000;
const NEEDED = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";

/** The interpreters that have the Python SDKs, by release, or why there are none, for the name of what is skipped then. */
export function pythonSdks(): { python: Record<keyof typeof RELEASES, string>; missing: string } {
  const none = { now: "", older: "" };
  const python = { ...none };
  for (const [release, packages] of Object.entries(RELEASES)) {
    const found = pythonWith(packages);
    if (found.missing !== "") return { python: none, missing: found.missing };
    python[release as keyof typeof RELEASES] = found.python;
  }
  return { python, missing: "" };
}

/** An interpreter that has packages from PyPI, or why there is none, for the name of what is skipped then. */
export function pythonWith(packages: readonly string[]): { python: string; missing: string } {
  const without = (why: string) => ({ python: "", missing: ` (skipped: ${why})` });
  if (run("python3", ["-c", NEEDED]).status !== 0)
    return without("there is no python3 of 3.10 or newer with venv");
  const folder = join(tmpdir(), `ptc-python-sdks-${digestOf(packages).slice(-16)}`);
  const problem = existsSync(folder) ? undefined : install(folder, packages);
  return problem === undefined ? { python: join(folder, "bin/python"), missing: "" } : without(problem);
}

/** Installs packages into a virtual environment of their own, which is there when it is whole. Returns why it is not. */
function install(folder: string, packages: readonly string[]): string | undefined {
  const own = `${folder}-${process.pid}`;
  mkdirSync(own, { recursive: true });
  const made = run("python3", ["-m", "venv", own]);
  const installed =
    made.status === 0 ? run(join(own, "bin/python"), ["-m", "pip", "install", "--quiet", ...packages]) : made;
  if (installed.status !== 0) {
    rmSync(own, { recursive: true, force: true });
    const last = installed.stderr?.trim().split("\n").at(-1) ?? String(installed.error);
    return `${packages.join(" ")} cannot be installed: ${last}`;
  }
  try {
    renameSync(own, folder);
  } catch {
    // Somebody else was first.
    rmSync(own, { recursive: true, force: true });
  }
  return undefined;
}

function run(command: string, args: readonly string[]) {
  return spawnSync(command, args, { encoding: "utf8", timeout: INSTALL_MS });
}
