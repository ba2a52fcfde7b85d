/**
 * Builds the image of ptc itself (deploy/image/Dockerfile) from `dist/` and the installed packages that ptc needs at run time, with a list
 * of all that is in it (SPDX, `/opt/ptc/sbom.spdx.json`). Reaches no registry but for base images that this machine lacks.
 *
 *     node scripts/build.ts && node scripts/image.ts --tag registry.example.com/ptc:1
 *     node scripts/image.ts --context FOLDER           # only what a builder needs, which takes deploy/image/Dockerfile itself
 *     node scripts/image.ts --tag ptc --local          # on the base of the runner image, where no registry can be reached
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { describeDebianBase } from "../sandbox/image/debian-base.ts";

const root = join(import.meta.dirname, "..");
const FILES = ["dist", "package.json", "LICENSE", "Dockerfile.runner"];

const { values } = parseArgs({
  options: {
    tag: { type: "string" },
    base: { type: "string" },
    context: { type: "string" },
    local: { type: "boolean", default: false },
  },
});
if (values.context !== undefined) {
  makeContext(values.context);
  process.exit(0);
}
if (values.tag === undefined) {
  console.error("--tag: name the image, such as registry.example.com/ptc:1");
  process.exit(2);
}
const context = mkdtempSync(join(tmpdir(), "ptc-image-"));
try {
  makeContext(context);
  const local = values.local ? await describeDebianBase() : undefined;
  const bases = { NODE: local, BASE: values.base ?? local };
  const given = Object.entries(bases).flatMap(([name, base]) =>
    base === undefined ? [] : ["--build-arg", `${name}=${base}`],
  );
  const file = join(root, "deploy/image/Dockerfile");
  execFileSync("docker", ["build", "--tag", values.tag, "--file", file, ...given, context], {
    stdio: "inherit",
    env: { ...process.env, DOCKER_BUILDKIT: process.env.DOCKER_BUILDKIT ?? "0" },
  });
} finally {
  rmSync(context, { recursive: true, force: true });
}

/** Puts everything that the image has of ptc, and a list of it, into a folder. */
function makeContext(folder: string): void {
  const installed = fillContext(join(folder, "ptc"));
  writeFileSync(join(folder, "ptc/sbom.spdx.json"), `${JSON.stringify(listPackages(installed))}\n`);
}

/** Copies what the image has of ptc, and the packages of its own that are not bundled. Returns their folders. */
function fillContext(folder: string): string[] {
  for (const name of FILES) cpSync(join(root, name), join(folder, name), { recursive: true });
  const listed = execFileSync("npm", ["ls", "--omit=dev", "--all", "--parseable"], {
    cwd: root,
    encoding: "utf8",
  });
  const packages = listed.split("\n").filter((path) => path.includes("node_modules"));
  for (const path of packages) cpSync(path, join(folder, relative(root, path)), { recursive: true });
  return packages;
}

/**
 * The packages in the image, installed or bundled into `dist/`, as an SPDX 2.3 document. `npm sbom` would list what ptc is built with as
 * well, which is not in the image.
 */
function listPackages(installed: readonly string[]): object {
  const bundled = readFileSync(join(root, "dist/THIRD_PARTY_LICENSES"), "utf8");
  const titles = [...bundled.matchAll(/^(\S+) (\S+)\n={3,}$/gm)].map(([, name = ""]) => name);
  const folders = [root, ...titles.map((name) => join(root, "node_modules", name)), ...installed];
  const packages = [...new Set(folders)].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return {
      SPDXID: `SPDXRef-${name.replace(/[^A-Za-z0-9.-]+/g, "-")}-${version}`.replace("Ref--", "Ref-"),
      name,
      versionInfo: version,
      downloadLocation: "NOASSERTION",
      licenseDeclared: typeof license === "string" ? license : "NOASSERTION",
      externalRefs: [
        {
          referenceCategory: "PACKAGE-MANAGER",
          referenceType: "purl",
          referenceLocator: `pkg:npm/${name.replace("@", "%40")}@${version}`,
        },
      ],
    };
  });
  const [own] = packages;
  const about = { SPDXID: "SPDXRef-DOCUMENT", spdxVersion: "SPDX-2.3", dataLicense: "CC0-1.0" };
  return {
    ...about,
    name: `${own?.name}-${own?.versionInfo}`,
    documentNamespace: `urn:ptc:${own?.versionInfo}:${createHash("sha256").update(JSON.stringify(packages)).digest("hex")}`,
    creationInfo: { created: "1970-01-01T00:00:00Z", creators: ["Tool: ptc-scripts-image"] },
    packages,
    relationships: packages.map(({ SPDXID }) => ({
      spdxElementId: own === packages.find((each) => each.SPDXID === SPDXID) ? about.SPDXID : own?.SPDXID,
      relatedSpdxElement: SPDXID,
      relationshipType: own?.SPDXID === SPDXID ? "DESCRIBES" : "CONTAINS",
    })),
  };
}
