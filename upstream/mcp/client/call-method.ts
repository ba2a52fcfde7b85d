import { isObject } from "../../../base/json.ts";
import type { UpstreamCall } from "../../upstream.ts";
import { UpstreamError } from "../../upstream-error.ts";
import type { ServerMethod } from "../server-methods.ts";
import { isUnknownMethod } from "../server-session.ts";
import { type Listed, listAllPages, ToolListingError } from "../tool-listing.ts";

type Params = Readonly<Record<string, unknown>>;

/** Sends one request of a call. @throws UpstreamError */
export type SendRequest = (
  method: string,
  params: Params,
  call: UpstreamCall,
) => Promise<Record<string, unknown>>;

/**
 * Calls a method of a server as if it were a tool: resolves with a result whose structured content is what the method
 * answered. Lists are followed to their last page, and all of it takes no longer than one call.
 *
 * @throws UpstreamError, and ToolListingError for an answer that is none of the method's.
 */
export async function callMethod(
  method: ServerMethod,
  call: UpstreamCall,
  send: SendRequest,
): Promise<unknown> {
  const began = performance.now();
  const sendInTime = (name: string, params: Params) =>
    send(name, params, { ...call, spentMs: (call.spentMs ?? 0) + performance.now() - began });
  const list = (listed: Listed): Promise<unknown[]> =>
    listAllPages((cursor) => sendInTime(listed.method, cursor === undefined ? {} : { cursor }), listed);
  const params = isObject(call.arguments) ? call.arguments : {};
  switch (method) {
    case "resources/list": {
      const resources = await list({ method, member: "resources", noun: "resources" });
      const templates = { method: "resources/templates/list", member: "resourceTemplates" };
      const resourceTemplates = await list({ ...templates, noun: "templates of resources" }).catch(
        (error: unknown) => {
          // A server may have resources and no templates.
          if (error instanceof UpstreamError && isUnknownMethod(error.cause)) return [];
          throw error;
        },
      );
      return structured({ resources, resourceTemplates });
    }
    case "prompts/list":
      return structured({ prompts: await list({ method, member: "prompts", noun: "prompts" }) });
    case "resources/read": {
      const { contents } = await sendInTime(method, params);
      if (!Array.isArray(contents)) throw noAnswerTo(method);
      return structured({ contents });
    }
    case "prompts/get": {
      const { description, messages } = await sendInTime(method, params);
      if (!Array.isArray(messages)) throw noAnswerTo(method);
      return structured({ ...(typeof description === "string" ? { description } : {}), messages });
    }
  }
}

function structured(structuredContent: Params) {
  return { content: [], structuredContent };
}

function noAnswerTo(method: string): ToolListingError {
  return new ToolListingError(`answered ${method} with something that is no answer to it`);
}
