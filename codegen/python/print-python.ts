import { NameAllocator, pascalCase } from "../../catalog/identifiers.ts";
import { groupEqualDefinitions } from "../../catalog/model/equal-definitions.ts";
import type {
  Definition,
  Documentation,
  Property,
  TypeModel,
  TypeNode,
} from "../../catalog/model/type-model.ts";
import type { Warning } from "../../catalog/parse-tool.ts";
import { type ServerModel, type ToolModel, toolSides, withoutTypes } from "../../catalog/tool-model.ts";
import { byCodeUnit } from "../../protocol/canonical-json.ts";
import { observedNote, UNWRAPPED_NOTE } from "../describe-tool.ts";
import {
  ANNOTATION_NAMES,
  docstring,
  functionName,
  indent,
  parameterNames,
  pythonString,
} from "./python-text.ts";
import {
  type ArgumentObject,
  argumentObjects,
  type DeclaredType,
  dependsOnSide,
  describe,
  followReferences,
  PythonTypes,
} from "./python-types.ts";
import { printToolMark } from "./read-module.ts";

/** The names that stubs import, by module. */
const IMPORTS: Readonly<Record<string, readonly string[]>> = {
  "collections.abc": ["Mapping", "Sequence"],
  typing: ["Any", "Literal", "Never", "NotRequired", "TypedDict", "overload"],
};

/** Declarations that belong together: a definition with the types that only it uses, or other types. */
interface Part {
  definition?: Definition;
  declared: DeclaredType[];
}

/** Prints `servers/<server_module>/__init__.pyi`. A tool whose types cannot be printed takes and returns anything. */
export function printPythonModule(server: ServerModel): { text: string; warnings: Warning[] } {
  const warnings: Warning[] = [];
  const functions = new Map(
    server.tools.map((tool) => [tool, functionName(tool.definition.name, tool.identifier)]),
  );
  const allocator = new NameAllocator(takenNames([...functions.values()]));
  const names = nameToolTypes(server.tools, allocator);
  const groups = groupEqualDefinitions(toolSides(server.tools), dependsOnSide);
  const equal = new EqualTypes(
    server.tools.flatMap((tool) =>
      (["input", "output"] as const).flatMap((role) =>
        [...(tool[role]?.definitions ?? [])].flatMap(([each, definition]) => {
          const name = names.get(tool)?.definitions.get(`${role} ${each}`);
          const group = groups.get(definition);
          return name === undefined || group === undefined ? [] : [{ name, group }];
        }),
      ),
    ),
  );
  const blocks = [...names].flatMap(([tool, own]) => {
    const name = functions.get(tool) ?? tool.identifier;
    const print = (printed: ToolModel): string[] => {
      const { types, declaration } = printTool(printed, name, own, allocator);
      const declared = types.flatMap(({ definition, declared }) =>
        equal.print(declared, definition && groups.get(definition)),
      );
      return [...declared, declaration];
    };
    try {
      return print(tool);
    } catch {
      const message = "its types cannot be printed; they are Any";
      warnings.push({ server: server.name, tool: tool.definition.name, message });
      return print(withoutTypes(tool));
    }
  });
  blocks.push(...printMethodObjects(server, functions, names));
  const body = blocks.join("\n\n");
  return {
    text: `${[...printHeader(server), ...printImports(body), body].join("\n\n").trimEnd()}\n`,
    warnings,
  };
}

function printTool(
  tool: ToolModel,
  name: string,
  names: ToolTypeNames,
  allocator: NameAllocator,
): { types: Part[]; declaration: string } {
  const typesOf = (role: "input" | "output", model: TypeModel): PythonTypes =>
    new PythonTypes({
      model,
      isInput: role === "input",
      allocator,
      names: new Map(
        [...model.definitions.keys()].map((each) => [
          each,
          names.definitions.get(`${role} ${each}`) ?? "Any",
        ]),
      ),
    });
  const parts: Part[] = [];
  const input = typesOf("input", tool.input);
  for (const [key, definition] of tool.input.definitions) {
    input.declare(names.definitions.get(`input ${key}`) ?? "Never", definition);
    parts.push({ definition, declared: input.takeDeclarations() });
  }
  let returns = "Any";
  if (tool.output !== undefined && names.output !== undefined) {
    const { root, documentation } = tool.output;
    const output = typesOf("output", tool.output);
    if (root.kind !== "reference") {
      output.declare(names.output, { type: root, documentation });
      parts.push({ declared: output.takeDeclarations() });
    }
    returns = names.output;
    for (const [key, definition] of tool.output.definitions) {
      output.declare(names.definitions.get(`output ${key}`) ?? "Never", definition);
      parts.push({ definition, declared: output.takeDeclarations() });
    }
  }
  const declaration = printFunction({ tool, name, types: input, inputName: names.input, returns });
  parts.push({ declared: input.takeDeclarations() });
  return { types: parts, declaration };
}

function printHeader(server: ServerModel): string[] {
  const line = `Tools of the MCP server ${pythonString(server.name)}. Written by \`ptc generate\`: edits are lost.`;
  return [docstring([server.description ?? "", line].join("\n").trim()).join("\n")];
}

function printImports(body: string): string[] {
  const code = body.replace(/"""[\s\S]*?(?<!\\)"""|"(?:[^"\\\n]|\\.)*"|#.*/g, "");
  const lines = Object.entries(IMPORTS).flatMap(([module, names]) => {
    const used = names.filter((name) => new RegExp(`\\b${name}\\b`).test(code));
    return used.length === 0 ? [] : [`from ${module} import ${used.join(", ")}`];
  });
  return lines.length === 0 ? [] : [lines.join("\n")];
}

const WORD = /[\p{XIDC}]+/gu;

/**
 * Prints equal definitions of a module once. Other equal definitions, and the dicts within them, become aliases of the first one,
 * because programs may import all of their names.
 */
class EqualTypes {
  /** The name of the first equal type, by the name of each type. */
  readonly #firstNames = new Map<string, string>();
  readonly #printed = new Map<number, readonly DeclaredType[]>();

  /** @param definitions the names of a module's definitions, in order. Equal ones have the same group. */
  constructor(definitions: readonly { name: string; group: number }[]) {
    const firsts = new Map<number, string>();
    for (const { name, group } of definitions) {
      const first = firsts.get(group) ?? name;
      firsts.set(group, first);
      this.#firstNames.set(name, first);
    }
  }

  /**
   * The text of a definition and of the dicts within it.
   *
   * @param group the definition's group, or `undefined` for other types.
   */
  print(declared: readonly DeclaredType[], group: number | undefined): string[] {
    const texts = declared.map(({ text }) => text);
    if (group === undefined) return texts;
    const first = this.#printed.get(group);
    if (first === undefined) {
      this.#printed.set(group, declared);
      return texts;
    }
    // An earlier definition may declare a shared dict, so equal definitions may have different numbers of dicts.
    const names = new Map(declared.map(({ name }, i) => [name, first[i]?.name ?? name]));
    const isSame =
      first.length === declared.length &&
      declared.every(
        ({ text }, i) => this.#withFirstNames(text, names) === this.#withFirstNames(first[i]?.text),
      );
    if (!isSame) return texts;
    for (const [name, equal] of names)
      if (!this.#firstNames.has(name)) this.#firstNames.set(name, this.#firstNames.get(equal) ?? equal);
    return declared.map(({ name, text }) => {
      const alias = `${name} = ${names.get(name)}`;
      return text.startsWith("type ") ? `type ${alias}` : alias;
    });
  }

  #withFirstNames(text = "", names: ReadonlyMap<string, string> = new Map()): string {
    return text.replace(WORD, (word) => {
      const name = this.#firstNames.has(word) ? word : (names.get(word) ?? word);
      return this.#firstNames.get(name) ?? name;
    });
  }
}

/** A member through which a module offers a method of the protocol, in addition to the function with named arguments. */
interface Member {
  object: "resources" | "prompts";
  name: string;
  parameters: string;
  description: string;
}

const MEMBERS: Readonly<Record<string, Member>> = {
  "resources/list": {
    object: "resources",
    name: "list",
    parameters: "self",
    description: "All resources, and templates of URIs.",
  },
  "resources/read": {
    object: "resources",
    name: "read",
    parameters: "self, uri: str",
    description: "The contents of one resource.",
  },
  "prompts/get": {
    object: "prompts",
    name: "get",
    parameters: "self, name: str, arguments: Mapping[str, str] | None = ...",
    description: "The messages of one prompt.",
  },
  "prompts/list": {
    object: "prompts",
    name: "list",
    parameters: "self",
    description: "All prompts, and their arguments.",
  },
};

/** Prints `resources` and `prompts` of a module if its server has them, unless a tool has that name. */
function printMethodObjects(
  server: ServerModel,
  functions: ReadonlyMap<ToolModel, string>,
  types: ReadonlyMap<ToolModel, ToolTypeNames>,
): string[] {
  const taken = new Set(functions.values());
  const allocator = new NameAllocator(taken);
  return (["resources", "prompts"] as const).flatMap((object) => {
    const methods = server.tools.flatMap((tool) => {
      const { method } = tool.definition;
      const member = method !== undefined && Object.hasOwn(MEMBERS, method) ? MEMBERS[method] : undefined;
      return member?.object === object ? [{ tool, member }] : [];
    });
    if (methods.length === 0 || taken.has(object)) return [];
    const name = allocator.allocate(`_${object}`, object);
    const members = methods.flatMap(({ tool, member }) => [
      `    async def ${member.name}(${member.parameters}) -> ${types.get(tool)?.output ?? "Any"}:`,
      `        """${member.description}"""`,
    ]);
    return [[`class ${name}:`, ...members].join("\n"), `${object}: ${name}`];
  });
}

/** The names of one tool's types. */
interface ToolTypeNames {
  /** The dict of all its arguments. */
  input: string;
  output?: string;
  /** By `<role> <definition>`. */
  definitions: Map<string, string>;
}

/** Names in a module besides its types. */
function takenNames(functions: readonly string[]): string[] {
  return [...functions, ...ANNOTATION_NAMES, "None", "True", "False"];
}

/** Names arguments, results and definitions of tools. Other types get names when they are printed. */
function nameToolTypes(tools: readonly ToolModel[], allocator: NameAllocator): Map<ToolModel, ToolTypeNames> {
  const names = new Map<ToolModel, ToolTypeNames>();
  const nameOf = (tool: ToolModel, key: string, suffix: string): string =>
    allocator.allocate(pascalCase(tool.identifier) + suffix, `${tool.definition.name} ${key}`);
  for (const tool of tools) {
    const own: ToolTypeNames = { input: nameOf(tool, "input", "Input"), definitions: new Map() };
    if (tool.output !== undefined) own.output = nameOf(tool, "output", "Output");
    names.set(tool, own);
  }
  for (const [tool, own] of names) {
    for (const role of ["input", "output"] as const) {
      const model = tool[role];
      if (model === undefined) continue;
      for (const name of [...model.definitions.keys()].sort(byCodeUnit)) {
        // A result that is a reference, and the definition it refers to, are one type with one name.
        const isRoot = role === "output" && model.root.kind === "reference" && model.root.name === name;
        const key = `${role} ${name}`;
        own.definitions.set(key, isRoot ? (own.output ?? "Any") : nameOf(tool, key, pascalCase(name)));
      }
    }
  }
  return names;
}

/** The most alternative objects of arguments for which a function has separate signatures. */
const MAX_SIGNATURES = 8;

interface FunctionRequest {
  tool: ToolModel;
  name: string;
  types: PythonTypes;
  /** The name of the dict of all arguments. */
  inputName: string;
  /** The annotation of its result. */
  returns: string;
}

/**
 * Prints a tool's function with keyword-only parameters, and again with one dict that has the properties by their exact names.
 * If arguments are one of several objects, each object has a separate signature.
 */
function printFunction({ tool, name, types, inputName, returns }: FunctionRequest): string {
  const root = followReferences(tool.input.root, tool.input);
  const objects = argumentObjects(tool.input);
  const description = describeFunction(tool);
  const head = `async def ${name}`;
  if (objects === undefined) {
    const annotation = root.kind === "object" ? types.annotate(root, inputName) : "Mapping[str, Any]";
    const dict = annotation.startsWith("dict[str, Never]")
      ? `${head}() -> ${returns}:`
      : `${head}(arguments: ${annotation} = ..., /, **others: Any) -> ${returns}:`;
    return [printToolMark({ tool, parameters: new Map(), inputName: "" }), dict, ...bodyOf(description)].join(
      "\n",
    );
  }
  const all = mergeProperties(objects);
  const parameters = parameterNames(all.map((property) => property.name));
  const merged: ArgumentObject = { kind: "object", properties: all };
  const variants = objects.length > MAX_SIGNATURES ? [merged] : objects;
  const annotations = new Map<Property, string>();
  for (const property of variants.flatMap(({ properties }) => properties)) {
    annotations.set(
      property,
      types.annotate(property.type, pascalCase(tool.identifier) + pascalCase(property.name)),
    );
  }
  const documented = describeArguments(description, all, parameters);
  const signatures = variants.map((variant, i) =>
    [
      "@overload",
      `${head}(`,
      ...printParameters(variant, parameters, annotations),
      `) -> ${returns}:${i === 0 && documented.length > 0 ? "" : " ..."}`,
      ...(i === 0 ? indent(documented) : []),
    ].join("\n"),
  );
  declareInput(types, inputName, objects);
  const dict = ["@overload", `${head}(arguments: ${inputName}, /) -> ${returns}: ...`].join("\n");
  return [printToolMark({ tool, parameters, inputName }), ...signatures, dict].join("\n");
}

/** The description of a tool, with a note if its result was observed or unwrapped. */
function describeFunction(tool: ToolModel): string {
  const { description = "" } = tool;
  const note = tool.isUnwrapped === true ? UNWRAPPED_NOTE : observedNote(tool);
  if (note === undefined) return description;
  return `${description}${description === "" ? "" : "\n\n"}The result is ${note}.`;
}

/** Every property of some objects. A property is required if all objects require it. */
function mergeProperties(objects: readonly ArgumentObject[]): Property[] {
  const merged = new Map<string, Property>();
  for (const { properties } of objects) {
    for (const property of properties) {
      const known = merged.get(property.name);
      const isRequired =
        property.required &&
        objects.every((each) =>
          each.properties.some(({ name, required }) => name === property.name && required),
        );
      const type: TypeNode =
        known === undefined || JSON.stringify(known.type) === JSON.stringify(property.type)
          ? property.type
          : { kind: "union", members: [known.type, property.type] };
      const { documentation } = known?.documentation.description === undefined ? property : known;
      merged.set(property.name, { name: property.name, type, required: isRequired, documentation });
    }
  }
  return [...merged.values()];
}

function printParameters(
  { properties, rest }: ArgumentObject,
  parameters: ReadonlyMap<string, string>,
  annotations: ReadonlyMap<Property, string>,
): string[] {
  const others =
    rest === undefined || rest.kind === "never" ? [] : [`**${freeName("others", parameters)}: Any,`];
  const ordered = [
    ...properties.filter(({ required }) => required),
    ...properties.filter(({ required }) => !required),
  ];
  return indent([
    "*,",
    ...ordered.map((property) => {
      const end = property.required ? "," : " = ...,";
      return `${parameters.get(property.name)}: ${annotations.get(property) ?? "Any"}${end}`;
    }),
    ...others,
  ]);
}

function freeName(wanted: string, parameters: ReadonlyMap<string, string>): string {
  return [...parameters.values()].includes(wanted) ? freeName(`${wanted}_`, parameters) : wanted;
}

function declareInput(types: PythonTypes, name: string, objects: readonly ArgumentObject[]): void {
  const documentation: Documentation = { description: `The arguments of the tool, by their exact names.` };
  const [only, another] = objects;
  if (only !== undefined && another === undefined) types.declareObject(name, only, documentation, false);
  else types.declare(name, { type: { kind: "union", members: [...objects] }, documentation });
}

function bodyOf(description: string): string[] {
  const lines = docstring(description);
  return lines.length === 0 ? ["    ..."] : indent(lines);
}

/** A docstring that describes each argument. */
function describeArguments(
  description: string,
  properties: readonly Property[],
  parameters: ReadonlyMap<string, string>,
): string[] {
  const described = properties.flatMap(({ name, documentation }) => {
    const text = describe(documentation);
    const [first, ...rest] = text.split("\n");
    return first === undefined || text === ""
      ? []
      : [[`    ${parameters.get(name)}: ${first}`, ...rest.map((line) => `        ${line}`)].join("\n")];
  });
  const args = described.length === 0 ? [] : ["Args:", ...described];
  const apart = description !== "" && args.length > 0 ? [""] : [];
  return docstring([...(description === "" ? [] : [description]), ...apart, ...args].join("\n"));
}
