/** Resolves and installs packages of Python with pip, from wheels alone: building a source distribution would run its code. */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { parseForeignJson } from "../../base/json.ts";
import { packageName } from "./package-command.ts";
import { PackageError } from "./package-error.ts";
import type { PythonTree } from "./package-lock.ts";
import type { Install, InstallStep } from "./run-installer.ts";

const LIMITS = { maxBytes: 64 * 1024 * 1024, maxDepth: 32 };
/** Where packages are in the layer. */
const SITE = "site-packages";
/** The newest C library that wheels may need is the image's. */
const NEWEST_GLIBC = 36;
const OLDEST_GLIBC = 17;

const Report = z.object({
  install: z.array(
    z.object({
      metadata: z.object({ name: z.string(), version: z.string() }),
      download_info: z.object({
        archive_info: z.optional(z.object({ hashes: z.optional(z.record(z.string(), z.string())) })),
      }),
    }),
  ),
});

/** pip, as a source of packages for sandboxes. */
export const pythonPackages: Install<PythonTree> = {
  async resolve({ packages }, step) {
    const report = join(step.folder, "report.json");
    await pip(step, ["--dry-run", "--ignore-installed", "--report", report, "--", ...packages]);
    const { install } = Report.parse(parseForeignJson(readFileSync(report), LIMITS));
    return install
      .map(({ metadata: { name, version }, download_info }) => {
        const sha256 = download_info.archive_info?.hashes?.sha256;
        if (sha256 === undefined)
          throw new PackageError(`${name} comes from no index with a digest; ptc does not install it`);
        return { name, version, sha256 };
      })
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  },

  async install(tree, step) {
    const lines = tree.map(({ name, version, sha256 }) => `${name}==${version} --hash=sha256:${sha256}\n`);
    writeFileSync(join(step.folder, "requirements.txt"), lines.join(""));
    const requirements = ["--requirement", join(step.folder, "requirements.txt")];
    await pip(step, ["--require-hashes", "--no-deps", "--no-compile", ...requirements]);
  },

  start(command, folder, inside) {
    const [first = ""] = command.packages;
    const name = packageName(command, first);
    const program = command.program ?? name;
    const found = programsOf(join(folder, SITE));
    const own = found.filter((each) => each.package === name);
    const entry =
      found.find((each) => each.program === program) ??
      (command.program === undefined && own.length === 1 ? own[0] : undefined);
    if (entry === undefined) {
      const known = own.map((each) => each.program).join(", ");
      throw new PackageError(
        `${first} has no program ${program}${known === "" ? "" : `; it has ${known}: --from ${first} NAME`}`,
      );
    }
    const { module, attribute } = entry;
    const script = `import sys; sys.argv[0] = ${JSON.stringify(entry.program)}; from ${module} import ${attribute.split(".")[0]}; sys.exit(${attribute}())`;
    return {
      command: "/usr/bin/python3",
      args: ["-c", script],
      env: { PYTHONPATH: `${inside}/${SITE}`, PYTHONDONTWRITEBYTECODE: "1" },
    };
  },
};

/** Runs pip for the Python of the sandbox, which need not be that of this machine. */
function pip(step: InstallStep, args: readonly string[]): Promise<void> {
  const arch = step.arch === "arm64" ? "aarch64" : "x86_64";
  const platforms = [`linux_${arch}`, `manylinux2014_${arch}`];
  for (let minor = NEWEST_GLIBC; minor >= OLDEST_GLIBC; minor--)
    platforms.push(`manylinux_2_${minor}_${arch}`);
  const install = [
    ...["install", "--quiet", "--disable-pip-version-check", "--no-input", "--only-binary=:all:"],
    ...["--target", join(step.folder, SITE), "--implementation", "cp", "--python-version", step.python],
    ...platforms.flatMap((platform) => ["--platform", platform]),
    ...args,
  ];
  return step.runFirst([
    ["python3", ["-m", "pip", ...install]],
    ["uv", ["tool", "run", "pip", ...install]],
    ["pipx", ["run", "pip", ...install]],
  ]);
}

const ENTRY = /^([\w.-]+)\s*=\s*([A-Za-z_][\w.]*)\s*:\s*([A-Za-z_][\w.]*)/;

interface Program {
  package: string;
  program: string;
  module: string;
  attribute: string;
}

/** The programs of installed packages: `console_scripts` of their entry points. */
function programsOf(site: string): Program[] {
  const infos = readdirSync(site).filter((each) => each.endsWith(".dist-info"));
  return infos.flatMap((info) => {
    let text: string;
    try {
      text = readFileSync(join(site, info, "entry_points.txt"), "utf8");
    } catch {
      return [];
    }
    const name = packageName({ kind: "python" }, info.replace(/-[^-]*\.dist-info$/, ""));
    let isProgram = false;
    return text.split(/\r?\n/).flatMap((line): Program[] => {
      const [, section] = /^\s*\[([^\]]*)\]/.exec(line) ?? [];
      if (section !== undefined) isProgram = section.trim() === "console_scripts";
      const [, program, module, attribute] = (isProgram && ENTRY.exec(line.trim())) || [];
      if (program === undefined || module === undefined || attribute === undefined) return [];
      return [{ package: name, program, module, attribute }];
    });
  });
}
