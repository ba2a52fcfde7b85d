import { isObject } from "../base/json/is-object.ts";
import { countNoun } from "../base/text/count-noun.ts";
import { isMethod } from "./parse-tool.ts";

/** How many of some definitions are tools; methods of the protocol, such as `resources/read`, are none. */
export function countTools(definitions: readonly unknown[]): number {
  return definitions.filter((definition) => !isMethod(definition)).length;
}

/** What a server offers, in words: `9 tools, resources, prompts`. */
export function renderOffer(definitions: readonly unknown[]): string {
  const offers = (kind: string) =>
    definitions.some(
      (each) => isObject(each) && typeof each.method === "string" && each.method.startsWith(`${kind}/`),
    );
  return [countNoun(countTools(definitions), "tool"), ...["resources", "prompts"].filter(offers)].join(", ");
}
