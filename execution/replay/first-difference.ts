import { isObject, writeJson } from "../../base/json.ts";

const MAX_SHOWN_CHARS = 200;

export interface Difference {
  /** The path as in code, `.items[3].name`; empty for the value itself. */
  path: string;
  expected: string;
  got: string;
}

/** The first difference between two JSON values, with members in the order of their names; `undefined` when they are equal. */
export function firstDifference(expected: unknown, got: unknown, path = ""): Difference | undefined {
  if (Array.isArray(expected) && Array.isArray(got)) {
    for (let index = 0; index < Math.max(expected.length, got.length); index++) {
      const difference = memberDifference(expected, got, index, `${path}[${index}]`);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  if (isObject(expected) && isObject(got)) {
    for (const name of [...new Set([...Object.keys(expected), ...Object.keys(got)])].sort()) {
      const step = /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
      const difference = memberDifference(expected, got, name, path + step);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  return expected === got ? undefined : { path, expected: show(expected), got: show(got) };
}

function memberDifference(
  expected: object,
  got: object,
  key: string | number,
  path: string,
): Difference | undefined {
  const there = Object.hasOwn(expected, key);
  const here = Object.hasOwn(got, key);
  const was = there ? expected[key as never] : undefined;
  const is = here ? got[key as never] : undefined;
  if (there && here) return firstDifference(was, is, path);
  return { path, expected: there ? show(was) : "nothing", got: here ? show(is) : "nothing" };
}

function show(value: unknown): string {
  const text = writeJson(value) ?? "nothing";
  return text.length <= MAX_SHOWN_CHARS ? text : `${text.slice(0, MAX_SHOWN_CHARS)}...`;
}
