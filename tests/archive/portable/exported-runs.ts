import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach } from "vitest";
import type { Database } from "../../../archive/sqlite/database.ts";
import { digestOf } from "../../../protocol/canonical-json.ts";
import { programFile } from "../../../protocol/program-files.ts";
import { storeSample } from "../made-archives.ts";
import { exportRuns } from "../on-connection.ts";
import { openQuickly, sha256, temporaryFolder } from "../sample-runs.ts";

export const NOW = Date.UTC(2031, 0, 1);

export const ROOMY = { maxLineBytes: 1e9, maxLines: 1e9, maxBytes: 1e9, maxLineValues: 1e6, maxRefused: 10 };

/** An export of three runs out of four, before the tests of a file; and for each test an archive to import it into. */
export class ExportedRuns {
  readonly folder = temporaryFolder();
  readonly exported = join(this.folder.path, "runs.ptc");
  readonly runIds: string[] = [];
  /** The lines of the export, without their line feeds. */
  lines: string[] = [];
  #source: Database | undefined;
  #target: Database | undefined;

  constructor() {
    beforeAll(async () => {
      const source = openQuickly(join(this.folder.path, "source.db"));
      this.#source = source;
      for (let i = 0; i < 4; i++) {
        const answer = (seq: number) => `shared ${seq} `.repeat(300);
        const files = i === 1 ? undefined : [programFile("a.bin", Buffer.from([0, 255, i]))];
        this.runIds.push(storeSample(source, { code: `run(${i})`, files, answer }));
      }
      await exportRuns(source, this.runIds.slice(0, 3), this.exported);
      this.lines = gunzipSync(readFileSync(this.exported)).toString().trimEnd().split("\n");
    });
    beforeEach(() => {
      this.#target?.close();
      this.#target = openQuickly(join(this.folder.path, `target-${randomUUID()}.db`));
    });
    afterAll(() => {
      this.#source?.close();
      this.#target?.close();
      this.folder.remove();
    });
  }

  get source(): Database {
    if (this.#source === undefined) throw new Error("asked for before the tests");
    return this.#source;
  }

  get target(): Database {
    if (this.#target === undefined) throw new Error("asked for before the test");
    return this.#target;
  }

  body = () => this.lines.slice(0, -1);
  lastLine = () => JSON.parse(this.lines.at(-1) ?? "");

  /** A file of these lines, with an end that fits them unless they have one. */
  writeLines = (given: readonly string[], options: { end?: object | null; file?: string } = {}): string => {
    const file = options.file ?? join(this.folder.path, `${randomUUID()}.ptc`);
    const body = given.map((line) => `${line}\n`).join("");
    const count = (key: string) => given.filter((line) => line.startsWith(`{"${key}":`)).length;
    const end = options.end ?? { runs: count("run"), blobs: count("blob"), digest: sha256(body) };
    writeFileSync(file, gzipSync(options.end === null ? body : `${body}${JSON.stringify(end)}\n`));
    return file;
  };

  /** The lines with the first run, on line `at`, changed; its digest fits. */
  withRun = (change: (record: Record<string, unknown>) => object, more: string[] = []): string[] => {
    const at = this.lines.findIndex((line) => line.startsWith('{"run":'));
    const { record } = JSON.parse(this.lines[at] ?? "");
    const changed = change(record);
    const run = JSON.stringify({ run: digestOf(changed), record: changed });
    const rest = this.body();
    return [...rest.slice(0, at), ...more, run, ...rest.slice(at + 1)];
  };
}

export const blobLine = (json: string) => JSON.stringify({ blob: sha256(json), json });
