/** The licences of the packages that are bundled into `dist/`. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Metafile } from "esbuild";

/** The licence texts of all packages with code in the outputs. @throws Error for a package without a licence. */
export function renderLicences(root: string, metafiles: readonly Metafile[]): string {
  const folders = metafiles.flatMap(({ inputs }) =>
    Object.keys(inputs).flatMap(
      (file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? [],
    ),
  );
  return [...new Set(folders)]
    .sort()
    .map((folder) => licenceOf(join(root, folder)))
    .join("\n\n");
}

function licenceOf(folder: string): string {
  const texts = readdirSync(folder)
    .filter((each) => /^(?:licen[cs]es?|notice|copying)(?:[.-]|$)/i.test(each))
    .map((file) => readFileSync(join(folder, file), "utf8").trim());
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    name: string;
    version: string;
    license?: string;
  };
  if (texts.length === 0 && license === undefined)
    throw new Error(`${name} does not say under which licence it is`);
  const title = `${name} ${version}`;
  return `${title}\n${"=".repeat(title.length)}\n\n${texts.length === 0 ? license : texts.join("\n\n")}\n`;
}
