/**
 * Makes the package as it is published: what package.json lists under `files`, a manifest without what only this checkout needs, and a README
 * that a registry can show. Prints one line of JSON: the file, its integrity, its sizes and what is in it.
 *
 *     node scripts/build.ts && node scripts/package.ts [--out FOLDER]
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { renderPackedReadme, repositoryOf } from "./packed-readme.ts";

const root = join(import.meta.dirname, "..");
/** What npm packs beside `files`. */
const ALWAYS = ["LICENSE"];
/** Keys of package.json that are about this checkout. */
const FOR_DEVELOPERS = new Set(["scripts", "devDependencies", "allowScripts"]);

const { values } = parseArgs({ options: { out: { type: "string", default: "." } } });
if (!existsSync(join(root, "dist/cli/ptc.js"))) {
  console.error("package: there is no dist/; run `node scripts/build.ts` first");
  process.exit(2);
}
const staged = mkdtempSync(join(tmpdir(), "ptc-package-"));
try {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const listed: string[] = manifest.files;
  const packed = listed.filter((name) => !name.startsWith("!"));
  const left = listed.filter((name) => name.startsWith("!"));
  for (const name of [...packed, ...ALWAYS])
    cpSync(join(root, name), join(staged, name), { recursive: true });
  for (const name of left) rmSync(join(staged, name.slice(1)), { recursive: true, force: true });
  const published = Object.entries(manifest).filter(([key]) => !FOR_DEVELOPERS.has(key));
  writeFileSync(join(staged, "package.json"), `${JSON.stringify(Object.fromEntries(published), null, 2)}\n`);
  const readme = readFileSync(join(root, "README.md"), "utf8");
  writeFileSync(join(staged, "README.md"), renderPackedReadme(readme, repositoryOf(manifest)));
  const out = resolve(values.out);
  const args = ["pack", "--json", "--silent", "--ignore-scripts", "--pack-destination", out];
  const [made] = JSON.parse(
    execFileSync("npm", args, { cwd: staged, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 }),
  );
  const { filename, integrity, size, unpackedSize, files } = made;
  const paths = files.map(({ path }: { path: string }) => path);
  console.log(JSON.stringify({ file: join(out, filename), integrity, size, unpackedSize, files: paths }));
} finally {
  rmSync(staged, { recursive: true, force: true });
}
