import { readFileSync } from "node:fs";
import { parse } from "yaml";

/**
 * Reads tables of cases from the YAML file beside a test file (`values.yaml` beside `values.test.ts`). Returns the rows of a
 * table by its name. The test says what type they have.
 */
export function rowsBeside(testFile: string): <Row>(table: string) => Row[] {
  const text = readFileSync(testFile.replace(/\.test\.ts$/, ".yaml"), "utf8");
  const tables = parse(text) as Record<string, unknown[]>;
  return <Row>(name: string) => {
    const rows = tables[name];
    if (rows === undefined) throw new Error(`there is no table '${name}' beside ${testFile}`);
    return rows as Row[];
  };
}
