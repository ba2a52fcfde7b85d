import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { FuzzTarget } from "./fuzz-target.ts";

const FOLDER = join(import.meta.dirname, "targets");

/** Every target of the folder `targets`, by the names of their files. */
export async function loadTargets(): Promise<FuzzTarget[]> {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith(".ts"));
  return Promise.all(
    files.sort().map(async (file) => ((await import(join(FOLDER, file))) as { target: FuzzTarget }).target),
  );
}
