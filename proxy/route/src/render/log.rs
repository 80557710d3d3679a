//! What the access log has of a request, besides nginx' own variables.

use crate::file::Route;
use crate::hosts::Site;

/// The maps of the key's hash, of the route, also by another spelling of its path, and of this spelling.
pub(super) fn maps(sites: &[Site<'_>], routes: &[Route]) -> String {
    let hashes: String = routes
        .iter()
        .filter(|route| !route.is_session())
        .map(|route| format!("    {} ${}_key_hash;\n", route.name, route.variable()))
        .collect();
    let spelled: String = sites.iter().map(spellings).collect();
    let spelling = |route: &Route| {
        let pattern = route.file.path.spelling()?;
        Some(format!("    \"~^ {} (?<its_spelling>{pattern})\" $its_spelling;\n", route.name))
    };
    let spelling: String = routes.iter().filter_map(spelling).collect();
    format!(
        "\nmap $carved $key_hash {{\n    default \"\";\n{hashes}}}\n\nmap \"$server_name$uri\" $spelled_route {{\n    \
         default \"\";\n{spelled}}}\n\nmap $carved $logged_route {{\n    default $carved;\n    \
         \"\" $spelled_route;\n}}\n\nmap \"$carved $spelled_route $request_uri\" $spelling {{\n    default \"\";\n\
         {spelling}}}\n"
    )
}

/// A server's name in a regular expression.
fn pattern(site: &Site<'_>) -> String {
    let server = site.names.first().map_or("", |name| name.as_str());
    server.replace('.', "\\.").replace('*', "\\*")
}

/// The routes of a server by other spellings of their paths.
fn spellings(site: &Site<'_>) -> String {
    let (server, routes) = (pattern(site), site.routes.iter());
    let line = |route: &&Route| {
        format!("    \"~*^{server}{}\" {};\n", route.file.path.spellings(), route.name)
    };
    routes.map(line).collect()
}

/// The names of a server's paths in the access log. `$server_name` is the first name of a server.
pub(super) fn paths(site: &Site<'_>) -> String {
    let server = pattern(site);
    let paths = site.routes.iter().map(|route| &route.file.path);
    let line = |(pattern, template)| format!("\"~^{server}{pattern}\" \"{template}\";\n");
    paths.flat_map(|path| path.templates()).map(line).collect()
}
