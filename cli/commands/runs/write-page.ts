import { randomBytes } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { formatBytes } from "../../../base/quantities.ts";
import { UsageError } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";

/**
 * Writes a page that only its owner can read, because it contains what servers answered. An existing page is replaced; when
 * writing fails, it is left as it was.
 *
 * @throws UsageError when the page cannot be written.
 */
export async function writePage(file: string, page: string, { stderr, cwd }: Surroundings): Promise<void> {
  const path = resolve(cwd(), file);
  const partial = `${path}.${randomBytes(6).toString("hex")}.partial`;
  try {
    await writeFile(partial, page, { mode: 0o600, flag: "wx" });
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(
      `--html: ${file} cannot be written (${code}); give a file in a folder that is there`,
    );
  }
  await write(stderr, `ptc: wrote ${file} (${formatBytes(Buffer.byteLength(page))})\n`);
}
