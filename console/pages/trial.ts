/** A single call of a tool by a person: the form, made from the tool's schema, and how it is read. */
import { ForeignJsonError, isObject, parseForeignJson, writeJson } from "../../base/json.ts";
import { oneLine } from "../../base/visible-text.ts";
import { describeTypes, type Parameter, readArgument, toolParameters } from "../../catalog/arguments.ts";
import type { Tool } from "../../catalog/tool.ts";
import { MAX_NESTING_DEPTH } from "../../protocol/limits.ts";
import { html, type Markup, renderSection } from "../../server/pages/page.ts";
import { BASE, type Frame, renderForm } from "../shell.ts";

const MAX_FIELDS = 50;
const MAX_OPTIONS = 100;
const MAX_JSON_BYTES = 64 * 1024;
const FIELD = "arg:";

/** The page of a tool, which contains the form. */
export function toolAddress({ namespacedName }: Pick<Tool, "namespacedName">): string {
  return `${BASE}/tools/${encodeURIComponent(namespacedName)}`;
}

/** The arguments of a form, or why they are invalid, in one line. */
export type ReadTrial =
  | { readonly ok: true; readonly args: object }
  | { readonly ok: false; readonly why: string };

/** Reads arguments by the schema of the tool. It skips empty fields. The validator of calls checks everything else. */
export function readTrial(form: URLSearchParams, { inputSchema }: Tool): ReadTrial {
  const whole = (form.get("json") ?? "").trim();
  if (whole !== "") {
    try {
      const args = parseForeignJson(whole, { maxBytes: MAX_JSON_BYTES, maxDepth: MAX_NESTING_DEPTH });
      return isObject(args)
        ? { ok: true, args }
        : { ok: false, why: "All arguments: must be a JSON object." };
    } catch (error) {
      if (!(error instanceof ForeignJsonError)) throw error;
      return { ok: false, why: `All arguments: ${oneLine(error.message, 500)}` };
    }
  }
  const given: [string, unknown][] = [];
  for (const parameter of toolParameters(inputSchema).parameters) {
    const text = form.get(FIELD + parameter.name) ?? "";
    if (text === "" && !(parameter.isRequired && isText(parameter))) {
      if (parameter.isRequired) return { ok: false, why: `${oneLine(parameter.name, 80)} is missing.` };
      continue;
    }
    const read = readArgument(text, parameter);
    if (!read.ok) return { ok: false, why: `${oneLine(parameter.name, 80)}: ${oneLine(read.why, 500)}` };
    given.push([parameter.name, read.value]);
  }
  return { ok: true, args: Object.fromEntries(given) };
}

function isText({ types, choices }: Parameter): boolean {
  return choices === undefined && types?.size === 1 && types.has("string");
}

/** @param given the form as it was sent, if its arguments were invalid for the reason `problem`. */
export function renderTrial(tool: Tool, frame: Frame, given?: URLSearchParams, problem?: string): Markup {
  const { parameters } = toolParameters(tool.inputSchema);
  const fields = parameters
    .slice(0, MAX_FIELDS)
    .map((parameter) => renderField(parameter, given?.get(FIELD + parameter.name) ?? ""));
  const json = given?.get("json") ?? "";
  const said = problem === undefined ? undefined : html`<p class="notice" role="alert">${problem}</p>`;
  return renderSection(
    "try",
    "Try a call",
    html`${said}<p class="soft">It is a real call with your logins: the policy decides about it, and it stands in the archive and in the audit log. One that needs an approval is not made here.</p>
${renderForm(
  `${toolAddress(tool)}/call`,
  frame,
  html`<div class="stack">${fields}<details class="fold"${json === "" ? undefined : html` open`}><summary>All arguments as JSON, instead</summary><label><span>A JSON object</span><textarea name="json" rows="6" spellcheck="false" autocomplete="off">${json}</textarea></label></details></div><div class="actions"><button type="submit" class="primary">Call it</button></div>`,
  html` class="trial"`,
)}`,
  );
}

function renderField(parameter: Parameter, value: string): Markup {
  const { name, isRequired, types, choices, description } = parameter;
  const label = html`<span><code>${name}</code>${isRequired ? " (required)" : ""} <span class="soft">${oneLine([types === undefined ? "" : describeTypes(types), description ?? ""].filter((part) => part !== "").join(". "), 300)}</span></span>`;
  const isFlag = types?.size === 1 && types.has("boolean");
  const options = isFlag ? [true, false] : choices;
  if (options === undefined || options.length > MAX_OPTIONS)
    return html`<label>${label}<input type="text" name="${FIELD + name}" value="${value}" autocomplete="off" spellcheck="false"></label>`;
  const texts = ["", ...options.map((each) => (typeof each === "string" ? each : writeJson(each)))];
  return html`<label>${label}<select name="${FIELD + name}">${texts.map((text) => html`<option value="${text}"${text === value ? html` selected` : undefined}>${text === "" ? "not given" : text}</option>`)}</select></label>`;
}
