import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findConfiguration } from "../../configuration/load.ts";
import { POLICY_CASES_FILE, readPolicyCases } from "../../configuration/policy/policy-cases.ts";
import { readLists, readPolicyFile } from "../../configuration/policy-files.ts";
import { readText } from "../../programs/program-folder.ts";
import { readSecretFile } from "../../upstream/secret-sources.ts";
import { newFolder } from "../temporary-folder.ts";

const ENCODINGS: [string, (text: string) => Buffer][] = [
  ["UTF-8 with a byte order mark", (text) => Buffer.from(`\ufeff${text}`, "utf8")],
  ["UTF-16 as PowerShell writes it", (text) => Buffer.from(`\ufeff${text}`, "utf16le")],
  ["UTF-16, the other way", (text) => Buffer.from(`\ufeff${text}`, "utf16le").swap16()],
];

describe.each(ENCODINGS)("in %s", (_, encode) => {
  it.each<[string, string, (folder: string) => unknown]>([
    ["ptc.yaml", "ptc.yaml", async (cwd) => (await findConfiguration({ env: {}, cwd }))?.text],
    ["a file of rules", "r.cedar", (folder) => readPolicyFile("r.cedar", folder, "").text],
    ["a list", "l.txt", (folder) => readLists({ l: { file: "l.txt" } }, folder, () => "").values.l?.join()],
    ["cases of rules", POLICY_CASES_FILE, (directory) => readPolicyCases({ directory })],
    ["a saved program", "a.py", (folder) => readText(folder, "a.py", 1_000)],
    ["a file with a secret", "s.txt", (folder) => readSecretFile(join(folder, "s.txt"))],
  ])("%s is read as the text that its editor shows", async (_, file, read) => {
    const folder = newFolder();
    writeFileSync(join(folder, file), encode("größe"));
    expect(await read(folder)).toBe("größe");
  });
});
