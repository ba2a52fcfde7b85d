import { readFileSync } from "node:fs";

function linesOf(file: string): string[] {
  const text = readFileSync(new URL(file, import.meta.url), "utf8");
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("# "));
}

/** Personal data as people and systems write it, by kind; each with what must stay in the text. */
export const PERSONAL = linesOf("personal.tsv").map((line) => line.split("\t") as [string, string, string]);

/** Ids of persons, by country, and whether each is told alone or only where the words before it name an id. */
export const NATIONAL_IDS = linesOf("national-ids.tsv").map(
  (line) => line.split("\t") as [country: string, told: "alone" | "called", id: string],
);

/** What looks like personal data and is none. */
export const IMPERSONAL: readonly string[] = linesOf("impersonal.txt");
