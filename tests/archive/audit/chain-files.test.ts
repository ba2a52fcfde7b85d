import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ChainedFile } from "../../../archive/audit/chain/chained-file.ts";
import { auditFiles } from "../../../archive/audit/reading/audit-source.ts";
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
