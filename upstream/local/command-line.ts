import { isObject } from "../../base/json/is-object.ts";
import { fillTemplate, type Template, type TemplatePart, textOf } from "./template.ts";

/** The most bytes of one element, which is less than the least that systems take. */
const MAX_ELEMENT_BYTES = 100_000;
const MAX_ELEMENTS = 4_096;
const MAX_BYTES = 1_000_000;

/** Arguments with which a command is not run. The message continues a sentence. */
export class UnusableArguments extends Error {
  override readonly name = "UnusableArguments";
}

/**
 * The elements of a command line after its program. There is no shell: each value is a part of one element, whatever it holds.
 * An element with an argument that is absent is left out. A value that an element begins with may not begin with `-`, because
 * the program could take it for an option, unless an element `--` stands before it.
 *
 * @throws UnusableArguments
 */
export function buildArguments(
  elements: readonly Template[],
  args: Readonly<Record<string, unknown>>,
): string[] {
  const built: string[] = [];
  let bytes = 0;
  let mayBeOptions = true;
  for (const template of elements) {
    for (const element of fillElement(template, args)) {
      if (startsWithArgument(template)) {
        if (mayBeOptions && element.startsWith("-"))
          throw new UnusableArguments(
            `${nameFirst(template)} begins with '-', which its program could take for an option`,
          );
      } else if (element === "--") mayBeOptions = false;
      const size = Buffer.byteLength(element);
      bytes += size;
      if (size > MAX_ELEMENT_BYTES || bytes > MAX_BYTES || built.length === MAX_ELEMENTS)
        throw new UnusableArguments(
          `${nameFirst(template)} is too long for a command line, which takes ${MAX_ELEMENT_BYTES} bytes in one element`,
        );
      if (element.includes("\0"))
        throw new UnusableArguments(
          `${nameFirst(template)} holds a NUL character, which no command line can`,
        );
      built.push(element);
    }
  }
  return built;
}

function fillElement(template: Template, args: Readonly<Record<string, unknown>>): string[] {
  const [first] = template;
  if (isArgument(first) && first.isSpread) return spread(first.argument, args);
  const isAbsent = template.some((part) => isArgument(part) && textOf(args, part.argument) === undefined);
  return isAbsent ? [] : [fillTemplate(template, args)];
}

/** An element for each item of a list. */
function spread(name: string, args: Readonly<Record<string, unknown>>): string[] {
  const value = Object.hasOwn(args, name) ? args[name] : undefined;
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new UnusableArguments(`'${name}' is no list`);
  return value.map((item: unknown) =>
    typeof item === "string" ? item : isObject(item) ? JSON.stringify(item) : String(JSON.stringify(item)),
  );
}

function startsWithArgument([first]: Template): boolean {
  return isArgument(first);
}

function nameFirst(template: Template): string {
  const argument = template.find(isArgument);
  return argument === undefined ? "a part of its command" : `'${argument.argument}'`;
}

function isArgument(part: TemplatePart | undefined): part is Exclude<TemplatePart, string> {
  return typeof part === "object";
}
