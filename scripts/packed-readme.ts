/** The README of the package. A registry shows it beside no repository, so its links and images name theirs in full. */

export interface Repository {
  /** Where people look at it, such as `https://github.com/OWNER/NAME`. */
  url: string;
  /** The tag of the version. */
  tag: string;
}

/** The address of a repository on GitHub as package.json has it: `git+https://github.com/OWNER/NAME.git`. @throws Error for any other. */
export function repositoryOf(manifest: { repository: { url: string }; version: string }): Repository {
  const url = /^git\+(https:\/\/github\.com\/[^/]+\/[^/]+)\.git$/.exec(manifest.repository.url)?.[1];
  if (url === undefined) throw new Error(`package.json: repository.url is '${manifest.repository.url}'`);
  return { url, tag: `v${manifest.version}` };
}

/** A target that stands in the repository: no address, no section of the page itself. */
const RELATIVE = /^(?![a-z][a-z+.-]*:|#|\/\/)/i;

/**
 * The relative targets of a page, images apart from links. Code is left out: what stands there is not a link.
 */
export function relativeTargets(page: string): { target: string; isImage: boolean }[] {
  const found: { target: string; isImage: boolean }[] = [];
  replaceTargets(page, (target, isImage) => {
    if (RELATIVE.test(target)) found.push({ target, isImage });
    return target;
  });
  return found;
}

/** The page with links to files of the version on the repository's pages, and with images as files of that version. */
export function renderPackedReadme(page: string, { url, tag }: Repository): string {
  const files = url.replace("https://github.com/", "https://raw.githubusercontent.com/");
  return replaceTargets(page, (target, isImage) => {
    if (!RELATIVE.test(target)) return target;
    // The host says of an SVG without this that it is text, which browsers show as no image.
    if (isImage) return `${files}/${tag}/${target}${/\.svg$/.test(target) ? "?sanitize=true" : ""}`;
    return `${url}/blob/${tag}/${target}`;
  });
}

function replaceTargets(page: string, replace: (target: string, isImage: boolean) => string): string {
  const isCode = (index: number) => index % 2 === 1;
  return page
    .split(/(^```[\s\S]*?^```|`[^`\n]+`)/m)
    .map((part, index) =>
      isCode(index)
        ? part
        : part
            .replace(/(?<=\]\()[^)\s]+(?=\))/g, (target, at: number) => replace(target, isImageAt(part, at)))
            .replace(/(?<=\b(src|href)=")[^"]+(?=")/g, (target, name: string) =>
              replace(target, name === "src"),
            ),
    )
    .join("");
}

/** Whether the target that begins at a place is that of an image: `![...](` is before it. */
function isImageAt(text: string, at: number): boolean {
  return /!\[[^\][]*\]\($/.test(text.slice(0, at));
}
