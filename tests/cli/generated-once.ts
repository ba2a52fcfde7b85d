import { createHash } from "node:crypto";
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join, relative } from "node:path";

/** What ptc keeps while it runs is no input of what it generates. */
const NO_INPUTS = "run";

/**
 * Has the modules of a folder that nothing was generated in generated, or copies what came of that in a folder with the
 * same files. What is generated does not depend on where the folder is.
 *
 * @param store where what came of it is kept for all files of a run
 */
export async function generateOnce(
  folder: string,
  store: string,
  generate: () => Promise<void>,
): Promise<void> {
  const before = new Set(filesIn(folder));
  const kept = keyOf(folder, before);
  if (kept === undefined) return generate();
  const path = join(store, kept);
  if (existsSync(path)) return cpSync(path, folder, { recursive: true });
  await generate();
  const own = `${path}-${process.pid}`;
  for (const file of filesIn(folder)) {
    if (!before.has(file)) cpSync(join(folder, file), join(own, file), { recursive: true });
  }
  try {
    renameSync(own, path);
  } catch (error) {
    if (!existsSync(path)) throw error;
    rmSync(own, { recursive: true, force: true });
  }
}

/** A digest of all files; `undefined` where something was generated before, or where a server of the network could say something else later. */
function keyOf(folder: string, files: ReadonlySet<string>): string | undefined {
  const hash = createHash("sha256");
  for (const file of [...files].sort()) {
    if (file.startsWith("generated/")) return undefined;
    const text = readFileSync(join(folder, file), "utf8").replaceAll(folder, ".");
    if (/https?:/.test(text)) return undefined;
    hash.update(`${JSON.stringify([file, text])}\n`);
  }
  return hash.digest("hex");
}

function filesIn(folder: string, below = folder): string[] {
  return readdirSync(below).flatMap((name) => {
    const path = join(below, name);
    const file = relative(folder, path);
    if (file === NO_INPUTS) return [];
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) return filesIn(folder, path);
    return found?.isFile() ? [file] : [];
  });
}
