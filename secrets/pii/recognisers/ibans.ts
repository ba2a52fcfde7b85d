import { getCountrySpecifications, isValidIBAN } from "ibantools";
import { type Excerpt, isEdgeAfter, isEdgeBefore, type PiiRange } from "../pii-kinds.ts";

const SPECIFICATIONS = getCountrySpecifications();

/** Finds international bank account numbers (ISO 13616) by a country's length, form and check digits, also in groups of four. */
export function findIbans({ text, from }: Excerpt): PiiRange[] {
  const found: PiiRange[] = [];
  let passed = from;
  for (const { 0: begin, index } of text.matchAll(/[A-Z]{2}\d{2}|[a-z]{2}\d{2}/g)) {
    const chars = SPECIFICATIONS[begin.slice(0, 2).toUpperCase()]?.chars;
    if (chars == null || index < passed || !isEdgeBefore(text, index)) continue;
    const end = endOf(text, index, chars, begin === begin.toUpperCase());
    if (end === undefined || !isEdgeAfter(text, end)) continue;
    if (
      !isValidIBAN(
        text
          .slice(index, end)
          .replace(/[ \u00a0-]/g, "")
          .toUpperCase(),
      )
    )
      continue;
    found.push({ start: index, end, kind: "iban" });
    passed = end;
  }
  return found;
}

/** The end of so many letters and digits. Only capital letters may be in groups. */
function endOf(text: string, start: number, chars: number, mayBeGrouped: boolean): number | undefined {
  const character = mayBeGrouped ? /[A-Z0-9]/ : /[a-z0-9]/;
  let at = start;
  for (let count = 0; count < chars; count++, at++) {
    if (mayBeGrouped && count % 4 === 0 && count > 0 && /[ \u00a0-]/.test(text.charAt(at))) at++;
    if (!character.test(text.charAt(at))) return undefined;
  }
  return at;
}
