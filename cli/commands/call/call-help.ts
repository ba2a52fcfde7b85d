import { oneLine, visibleLine, visibleLines } from "../../../base/visible-text.ts";
import { describeTypes, type Parameter, toolParameters } from "../../../catalog/arguments.ts";
import type { Tool } from "../../../catalog/tool.ts";
import { placeholderOf } from "../../arguments/call-arguments.ts";
import { layOutTable } from "../../run-report/text-table.ts";
import type { Terminal } from "../../terminal/terminal.ts";

const MAX_PARAMETERS = 200;
const MAX_DESCRIPTION_CHARS = 4_000;
const MAX_LINE_CHARS = 300;
const MAX_CHOICES = 12;

/** How something is called from a shell. */
interface HowCalled {
  title: string;
  /** What stands before the value of an argument. */
  nameOf: (parameter: Pick<Parameter, "name">) => string;
  /** The command without arguments. */
  call: string;
}

function byTool({ namespacedName, server, name }: Tool): HowCalled {
  const called = `${server}.${name}`;
  return {
    title: visibleLine(namespacedName),
    nameOf: (parameter) => `${visibleLine(parameter.name)}=`,
    call: `ptc call ${/^[\w.-]+$/.test(called) ? called : "SERVER.TOOL"}`,
  };
}

/** What a tool takes and how it is called from a shell, made from its schema. */
export function renderCallHelp(
  tool: Tool,
  { style }: Terminal,
  { title, nameOf, call }: HowCalled = byTool(tool),
): string {
  const { parameters, isOpen } = toolParameters(tool.inputSchema);
  const shown = parameters.slice(0, MAX_PARAMETERS);
  const rows = shown.map((parameter) => [
    { text: `  ${nameOf(parameter)}${placeholderOf(parameter)}` },
    { text: describe(parameter) },
  ]);
  const required = shown.filter(({ isRequired }) => isRequired);
  const example = required.map((parameter) => ` ${nameOf(parameter)}${placeholderOf(parameter)}`);
  const sections = [
    style("bold", title),
    ...(tool.description === undefined
      ? []
      : [visibleLines(tool.description.slice(0, MAX_DESCRIPTION_CHARS)).trim()]),
    parameters.length === 0
      ? isOpen
        ? "It takes any arguments."
        : "It takes no arguments."
      : [
          "Arguments:",
          ...layOutTable(rows),
          ...(parameters.length > shown.length ? [`  and ${parameters.length - shown.length} more`] : []),
          ...(isOpen ? ["  and any others"] : []),
        ].join("\n"),
    `Example:\n  ${call}${example.join("")}`,
  ];
  return `${sections.join("\n\n")}\n`;
}

function describe(parameter: Parameter): string {
  const { isRequired, types, choices, description, default: byDefault } = parameter;
  const facts = [
    ...(isRequired ? ["required"] : []),
    ...(choices === undefined
      ? types === undefined
        ? []
        : [describeTypes(types)]
      : [
          `one of ${choices
            .slice(0, MAX_CHOICES)
            .map((choice) => JSON.stringify(choice))
            .join(", ")}${choices.length > MAX_CHOICES ? ", ..." : ""}`,
        ]),
    ...(byDefault === undefined ? [] : [`by default ${JSON.stringify(byDefault)}`]),
  ].join(", ");
  return oneLine([facts, ...(description === undefined ? [] : [description])].join(". "), MAX_LINE_CHARS);
}
