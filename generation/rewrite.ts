import { Worker } from "node:worker_threads";
import { CatalogError, type CatalogErrorCode } from "../catalog/catalog-error.ts";
import type { LearnedTypes } from "../catalog/learned/learned-types.ts";
import type { ServerListing } from "../catalog/parse-tool.ts";
import { findCatalog } from "../catalog/store/catalog-file.ts";
import { readOwnFile } from "../catalog/store/own-file.ts";
import type { StoredCatalog } from "../catalog/store/stored-catalog.ts";
import { type WrittenFiles, writeGenerated } from "../catalog/store/write-generated.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { loadPrinters } from "../languages/languages.ts";
import { compileCacheVariable } from "../system/compile-cache.ts";
import { moduleUrl } from "../system/package.ts";
import { planGeneration } from "./generate-plan.ts";

/**
 * Writes a folder of generated files again. Ten thousand definitions take seconds of processor, so that a large rewrite is one message
 * to a thread and one back.
 */

/** What is written again, as data that a thread takes. */
export interface Rewrite {
  readonly directory: string;
  readonly languages: Configuration["languages"];
  readonly listings: readonly ServerListing[];
  /** The configured servers. */
  readonly keep: readonly string[];
  /** The state to start from; by default what the folder has. */
  readonly stored: StoredCatalog | undefined;
  /** `undefined` for the types in the folder. */
  readonly learned: LearnedTypes | undefined;
  /** The modules of saved programs, by the number of their printer among those of the languages. */
  readonly programs: readonly {
    readonly printer: number;
    readonly text: string;
    readonly tools: readonly { module: string; name: string; identifier: string }[];
  }[];
}

export type RewriteAnswer =
  | { ok: true; files: WrittenFiles }
  | { ok: false; code: CatalogErrorCode | undefined; message: string };

/** Definitions of more characters, or a catalog of more bytes, are written by the thread. */
export const MAX_HERE = 512 * 1024;

/** @throws CatalogError */
export async function rewriteHere(rewrite: Rewrite): Promise<WrittenFiles> {
  const { directory, languages, listings, keep, stored, learned, programs } = rewrite;
  const printers = await loadPrinters(languages);
  const previous = stored ?? (await findCatalog(directory));
  const modules = new Map<string, string>();
  for (const { module } of previous?.catalog.servers ?? [])
    for (const path of printers.map((each) => each.modulePath(module))) {
      const text = await readOwnFile(directory, path).catch(() => undefined);
      if (text !== undefined) modules.set(path, text.toString());
    }
  const { files } = await planGeneration({
    listings,
    previous,
    keep,
    printers,
    modules,
    learned: learned ?? previous?.learned,
    programs: programs.flatMap(({ printer, ...rest }) => {
      const own = printers[printer];
      return own === undefined ? [] : [{ ...rest, printer: own }];
    }),
  });
  return writeGenerated(directory, files);
}

/** Like `rewriteHere`, on a thread. @throws CatalogError, and Error if the thread ends before it is done */
export async function rewriteOnThread(rewrite: Rewrite): Promise<WrittenFiles> {
  const worker = new Worker(moduleUrl("generation/rewrite-worker"), {
    workerData: rewrite,
    env: compileCacheVariable(),
    execArgv: [],
  });
  try {
    const answer = await new Promise<RewriteAnswer>((resolve) => {
      worker.once("message", resolve);
      worker.once("error", ({ message }) => resolve({ ok: false, code: undefined, message }));
      worker.once("exit", () => resolve({ ok: false, code: undefined, message: "its thread has ended" }));
    });
    if (answer.ok) return answer.files;
    throw answer.code === undefined
      ? new Error(answer.message)
      : new CatalogError(answer.code, answer.message);
  } finally {
    void worker.terminate().catch(() => {});
  }
}
