import type { CodeSyntax } from "../../execution/prepare/code-syntax.ts";
import { findLanguage } from "../../execution/prepare/language.ts";
import { PYTHON_SYNTAX } from "../../execution/python/python-syntax.ts";
import { TYPESCRIPT_SYNTAX } from "../../execution/typescript/typescript-syntax.ts";
import { LANGUAGES, type LanguageName } from "../program-files.ts";

const SYNTAXES: Readonly<Record<LanguageName, CodeSyntax>> = {
  typescript: TYPESCRIPT_SYNTAX,
  python: PYTHON_SYNTAX,
};

/** What has a colour in a recorded program. @param language as the record names it, whether it is on or off. */
export function syntaxOf(language: string): CodeSyntax {
  const [name] = findLanguage(LANGUAGES, language)?.names ?? [];
  return SYNTAXES[name as LanguageName] ?? TYPESCRIPT_SYNTAX;
}
