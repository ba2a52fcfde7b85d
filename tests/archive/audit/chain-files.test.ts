import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ChainedFile } from "../../../archive/audit/chain/chained-file.ts";
import { auditFiles } from "../../../archive/audit/reading/audit-source.ts";
import { eventually } from "../../eventually.ts";
import { type AuditKind, describeAudit } from "./chain-contract.ts";

const files: AuditKind = {
  name: "files",
  make(folder) {
    const path = join(folder, "log/audit.jsonl");
    const edit = (change: (lines: string[]) => string[]) =>
      writeFileSync(path, change(readFileSync(path, "utf8").split(/(?<=\n)/)).join(""));
    const at = (seq: number) => (line: string) => line.includes(`"seq":${seq},`);
    return {
      open: ({ keepMs, wallMs }) => new ChainedFile({ path, maxBytes: 1e9, keepMs, wallMs }),
      source: () => auditFiles(path),
      remove: (seq) => edit((lines) => lines.filter((line) => !at(seq)(line))),
      replace: (seq, from, to) =>
        edit((lines) => lines.map((line) => (at(seq)(line) ? line.replace(from, to) : line))),
      swap: (one, other) =>
        edit((lines) => {
          const [a = "", b = ""] = [one, other].map((seq) => lines.find(at(seq)));
          return lines.map((line) => (line === a ? b : line === b ? a : line));
        }),
    };
  },
};

describeAudit(files);

test("an audit log is followed into the files that come after the one that was there", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ptc-audit-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "audit.jsonl");
  const stop = new AbortController();
  const seen: unknown[] = [];
  const following = (async () => {
    for await (const { fields } of auditFiles(path).following({ events: ["run"] }, stop.signal))
      seen.push(fields.run_id);
  })();
  // Each line begins a file, because the one before is larger than it may be.
  const write = (runId: string) => {
    const line = `{"time":"2030-01-02T00:00:00.000Z","event":"run","run_id":"${runId}"}\n`;
    const chain = new ChainedFile({ path, maxBytes: 1, keepMs: 1e12, wallMs: () => Date.UTC(2030, 0, 2) });
    return chain.append([line], false);
  };
  // It begins at some moment: what is written before is none of it.
  await eventually(async () => {
    await write("before");
    expect(seen).not.toEqual([]);
  });
  const runIds = ["first", "second", "third"];
  for (const runId of runIds) {
    await write(runId);
    await eventually(() => expect(seen.at(-1)).toBe(runId));
  }
  stop.abort();
  await following;
  expect(seen.filter((runId) => runId !== "before")).toEqual(runIds);
});
