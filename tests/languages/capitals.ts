import { TYPESCRIPT_PRINTER } from "../../codegen/typescript/typescript-printer.ts";
import { afterCheck, type LanguageService, type RegisteredLanguage } from "../../languages/language.ts";

/**
 * A third language, registered as any is. Its programs run in capitals and take the module that they name first. Digits have no
 * capitals, a `?` is a mistake of types, and a program that begins with `say` calls saved ones.
 */
export const CAPITALS: RegisteredLanguage = {
  title: "Capitals",
  offers: "capitals",
  names: ["capitals", "shouting"],
  suffixes: { ".up": "capitals" },
  interpreters: { shout: "shouting" },
  unnamed: { language: "capitals", fileName: "program.up" },
  idioms: { output: "SAY", value: "VALUE" },
  runner: "python",
  start: { command: (heapMb) => ["shout", String(heapMb)], variables: ["LOUD=1"], freshness: "LOT" },
  syntax: { comment: "#[^\\n]*", string: '"[^"\\n]*"?', keywords: "say" },
  callSaved: ({ name }) => `say ${name}`,
  loadPrinter: async () => ({ ...TYPESCRIPT_PRINTER, language: "capitals" }),
  whyUnchecked: async () => undefined,
  open: async (): Promise<LanguageService> => ({
    looksLike: (code) => /^[a-z ]+$/.test(code),
    accepts: async (code) => !/\d/.test(code),
    async prepare({ code, fileName }, modules, { mode }) {
      if (/\d/.test(code))
        return {
          ok: false,
          type: "BundleError",
          message: `${fileName}: digits have no capitals: ${code}`,
          reasons: [{ code: "invalid_text" }],
        };
      const [first = ""] = code.split(" ");
      const used = modules.modules().includes(first) ? await modules.load(first) : undefined;
      const bundle = code.toUpperCase() + (used === undefined ? "" : ` WITH ${used.text}`);
      const message = `${fileName}: not sure: ${code}`;
      const isWrong = mode !== "off" && code.includes("?");
      return afterCheck(bundle, isWrong ? { kind: "errors", message, count: 1 } : undefined, mode);
    },
    advise: async (_, ended) => (ended.ok && ended.isEmpty ? ["VALUE is not set: say something"] : []),
    warm: async () => {},
    close: async () => {},
  }),
};
