/**
 * What decides how a request is read, who asks, and where it goes. A description may not have arguments for it: a request that only
 * reads for ptc must not be another for the API.
 */

/** Headers of HTTP itself, and those that ptc sends. Descriptions name some of them as parameters, which OpenAPI has clients ignore. */
const OF_HTTP =
  /^(accept|accept-encoding|authorization|connection|content-.*|cookie2?|date|expect|forwarded|host|http2-settings|keep-alive|max-forwards|origin|proxy-.*|sec-.*|te|trailers?|transfer-encoding|upgrade|via)$/;
/** Another method than that of the request. */
const METHOD = /^(x-)?(http-)?method(-override)?$|-method-override$/;
/** Another path or host than that of the request, as proxies say it. */
const PLACE =
  /^x-(original|rewrite|forwarded|proxy|envoy)(-.*)?$|^(x-)?(http-)?host(-override)?$|^x-(override|request)-(url|uri|path)$/;
/** Who asks, as proxies say it. */
const WHO =
  /^(x-)?(real|client|cluster-client|true-client|originating|remote|source|cf-connecting|fastly-client|appengine-user)-(ip|addr|address)(v?6)?$|^(x-)?(remote|authenticated|auth-request|webauth|proxy|forwarded|ssl-client|client-cert|goog-authenticated)(-(user|userid|email|groups?|name|dn|verify|cert|subject|s-dn|.*))?$/;

/** Whether a header decides how a request is read or who asks. Some servers do not tell `_` from `-`. */
export function isOwnHeader(name: string): boolean {
  const plain = name
    .trim()
    .toLowerCase()
    .replaceAll(/[_.\s]/g, "-");
  return [OF_HTTP, METHOD, PLACE, WHO].some((pattern) => pattern.test(plain));
}

/** Whether OpenAPI itself has clients ignore a header among the parameters (OpenAPI 3.1, "Parameter Object"). */
export function isIgnoredHeader(name: string): boolean {
  return /^(accept|content-type|authorization)$/i.test(name);
}

/** Whether a parameter of a query or a field of a form makes another request of it for common frameworks. */
export function isOwnField(name: string): boolean {
  return /^(_method|_?http_?method(_?override)?|x-http-method(-override)?|x-method-override)$/i.test(name);
}
