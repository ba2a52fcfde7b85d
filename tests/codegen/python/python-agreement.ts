import type { ErrorObject } from "ajv";
import { isObject } from "../../../base/json.ts";
import type { ServerListing } from "../../../catalog/parse-tool.ts";
import { moduleFile } from "../../../codegen/python/program-stubs.ts";
import { isPythonName } from "../../../codegen/python/python-text.ts";
import { namespacedName, serverModule } from "../../../protocol/tool-names.ts";
import { type Agreement, type Judged, judgeValues } from "../agreement.ts";
import { checkPython } from "./check-python.ts";
import { generateStubs, pythonValue } from "./generate-stubs.ts";

/**
 * Asks the validator and pyright about values of every schema: as a dict of the tool's type, and as keyword arguments of its
 * function. A value type-checks when it does in both forms.
 */
export async function measurePythonAgreement(
  listings: readonly ServerListing[],
  each: number,
): Promise<Agreement> {
  const { files, modules } = await generateStubs(listings);
  const agreement: Agreement = { schemas: 0, unsampled: [], accepted: [], refused: [] };
  const placed = new Map<string, Judged[]>();
  const places = new Map<string, Judged>();
  let seed = 1;
  for (const listing of listings) {
    const module = serverModule(listing.name);
    const tools = new Map(modules.get(module)?.tools.map((tool) => [tool.namespacedName, tool]));
    const package_ = moduleFile(module).split("/").slice(0, -1).join(".");
    const lines = [`import ${package_} as m`];
    const at = `values_${module}.py`;
    const judged: Judged[] = [];
    const byLine: Judged[] = [];
    for (const tool of listing.tools.filter(isObject)) {
      const declared = tools.get(namespacedName(module, String(tool.name)));
      for (const role of ["input", "output"] as const) {
        const schema = tool[`${role}Schema`];
        if (declared === undefined || declared[role] === "Any") continue;
        const found = judgeValues(schema, role, each, () => seed++);
        if (found === undefined) continue;
        agreement.schemas++;
        if (!found.some(({ accepted }) => accepted))
          agreement.unsampled.push(`${listing.name} ${tool.name} ${role}`);
        for (const { value, accepted, keywords, errors } of found) {
          if (!accepted && !errors.every(isExpressible)) continue;
          const entry = {
            tool: `${listing.name} ${tool.name}`,
            ...{ role, value, accepted, keywords },
            typeChecks: true,
          };
          judged.push(entry);
          const add = (line: string): void => {
            byLine[lines.length] = entry;
            lines.push(line);
          };
          add(`v${lines.length}: m.${declared[role]} = ${pythonValue(value)}`);
          const keywordForm = role === "input" ? asKeywords(value, declared.parameters ?? {}) : undefined;
          if (keywordForm !== undefined) add(`m.${declared.identifier}(${keywordForm}).close()`);
        }
      }
    }
    files.set(at, `${lines.join("\n")}\n`);
    placed.set(at, judged);
    for (const [line, entry] of byLine.entries()) if (entry !== undefined) places.set(`${at}:${line}`, entry);
  }
  for (const { path, line, message } of checkPython(files)) {
    if (message === 'Import "m" is not accessed') continue;
    const entry = places.get(`${path}:${line}`);
    if (entry === undefined) throw new Error(`${path}:${line}: ${message}`);
    entry.typeChecks = false;
  }
  for (const entry of [...placed.values()].flat())
    (entry.accepted ? agreement.accepted : agreement.refused).push(entry);
  return agreement;
}

/** The arguments of a call; `undefined` where a name cannot be a keyword. */
function asKeywords(value: unknown, parameters: Readonly<Record<string, string>>): string | undefined {
  if (!isObject(value)) return undefined;
  const names = new Map(Object.entries(parameters).map(([parameter, property]) => [property, parameter]));
  const pieces = Object.entries(value).map(
    ([property, each]) => [names.get(property) ?? property, each] as const,
  );
  if (pieces.some(([name]) => !isPythonName(name))) return undefined;
  return pieces.map(([name, each]) => `${name}=${pythonValue(each)}`).join(", ");
}

/** Whether Python's types can say why a value was refused. To them a bool is a number, and the items of a list are alike. */
function isExpressible({ keyword, params, data, schemaPath }: ErrorObject): boolean {
  if (/\/(?:(?:prefixItems|items)\/\d+|additionalItems)\//.test(schemaPath)) return false;
  if (keyword === "type" && typeof data === "boolean") {
    const types = [params.type].flat();
    return !types.includes("number") && !types.includes("integer");
  }
  return !["items", "additionalItems"].includes(keyword);
}
