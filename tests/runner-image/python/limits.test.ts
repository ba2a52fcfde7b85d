import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MAX_EMITTED_BLOCKS, MAX_EMITTED_BYTES } from "../../../protocol/emitted.ts";
import * as limits from "../../../protocol/limits.ts";
import { TRUNCATION_MARK } from "../../../protocol/text-cap.ts";

const PYTHON = join(import.meta.dirname, "../../../runner-image/python/ptc_runner/limits.py");

test("the Python runner knows the limits of the wall as the host does", () => {
  const known: Record<string, unknown> = {
    ...limits,
    MAX_EMITTED_BLOCKS,
    MAX_EMITTED_BYTES,
    TRUNCATION_MARK,
  };
  const stated = [...readFileSync(PYTHON, "utf8").matchAll(/^([A-Z_]+) = (.+)$/gm)];
  const differing = stated.filter(([, name = "", value = ""]) => {
    const product = value.split(" * ").map((factor) => Number(factor.replaceAll("_", "")));
    const read = value.startsWith('"') ? JSON.parse(value) : product.reduce((all, factor) => all * factor, 1);
    return read !== known[name];
  });
  expect(differing).toEqual([]);
  expect(stated.length).toBeGreaterThan(10);
});
