"""Short links of the legacy app."""

import json

URL = "https://www.example.com/kept"
# Makes one in the app's pod, since the API's proxy can only ask.
ADD = (
    'fetch("http://127.0.0.1:3000/api/links", { method: "POST", headers: { "content-type": "application/json" },'
    f' body: JSON.stringify({{ url: "{URL}" }}) }}).then((answer) => answer.text()).then(console.log)'
)


def add_link(cluster):
    """Makes a link and returns its id."""
    answer = json.loads(cluster.kubectl("exec", "deployment/legacy-node", "--", "node", "-e", ADD))
    cluster.expect(answer.get("url") == URL, f"no link is made: {answer}")
    return answer["id"]


def has_link(cluster, link):
    pod = cluster.pods("app.kubernetes.io/name=legacy-node")[0]
    return URL == cluster.ask(pod, 3000, f"api/links/{link}")["url"]
