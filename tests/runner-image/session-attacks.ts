/** What session-attacks.yaml holds: programs of a session that leave something behind that acts by itself. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { RunnerLanguage } from "./runner-process.ts";

interface Attack {
  name: string;
  language: RunnerLanguage;
  code: string;
}

type ByLanguage<T> = Readonly<Record<RunnerLanguage, T>>;

const FILE: {
  channels: ByLanguage<string>;
  leftovers: ByLanguage<Readonly<Record<string, string>>>;
  next: ByLanguage<string>;
  lasting: readonly (Attack & { why: string })[];
  impostor: string;
  late_writes: string;
} = parse(readFileSync(join(import.meta.dirname, "session-attacks.yaml"), "utf8"));

const whole = (language: RunnerLanguage, code: string) =>
  code.replace("CHANNEL", () => FILE.channels[language]);

/** Leave nothing that acts, and a session that goes on. */
export const ALL_LEFTOVERS: readonly Attack[] = (["javascript", "python"] as const).flatMap((language) =>
  Object.entries(FILE.leftovers[language]).map(([name, code]) => ({
    language,
    name,
    code: whole(language, code),
  })),
);
/** Run in a session after one of these, and ask for it as long as it could come. */
export const NEXT = FILE.next;
/** Leave what no runner can end: the guard sees it from outside. By what the next program hears. */
export const LASTING = FILE.lasting.map((each) => ({ ...each, code: whole(each.language, each.code) }));
export const IMPOSTOR = whole("javascript", FILE.impostor);
export const LATE_WRITES = whole("javascript", FILE.late_writes);
