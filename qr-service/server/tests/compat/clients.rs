//! Tests clients that are not ours, with the requests that they send to these services: curl, and a browser's `fetch`
//! in Node.

use std::net::SocketAddr;
use std::process::Command;

use crate::pictures::seen;
use crate::support::{Answer, start};

const ON: [(&str, &str); 2] =
    [("QR_COMPAT", "goqr,quickchart,google"), ("QR_SHOW_HOST", "qr.example")];

fn output(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn curl(addr: SocketAddr, arguments: &[&str]) -> Vec<u8> {
    let resolve = format!("qr.example:{}:127.0.0.1", addr.port());
    output(Command::new("curl").args(["-sS", "--fail", "--resolve", &resolve]).args(arguments))
}

fn png(body: Vec<u8>) -> Answer {
    let headers = vec![("content-type".to_owned(), "image/png".to_owned())];
    Answer { status: 200, headers, body }
}

#[test]
fn curl_gets_and_posts_as_the_services_document_it() {
    let service = start(&ON);
    let at = format!("http://{}", service.addr);
    let show = format!("http://qr.example:{}", service.addr.port());
    let code = curl(
        service.addr,
        &[
            "-G",
            &format!("{at}/v1/create-qr-code/"),
            "-d",
            "size=300x300",
            "--data-urlencode",
            "data=a&b=ü",
        ],
    );
    assert_eq!(seen(&png(code)).2, "a&b=ü");
    let code = curl(
        service.addr,
        &[&format!("{at}/v1/create-qr-code/"), "--form", "data=c d", "--form", "size=150x150"],
    );
    assert_eq!(seen(&png(code.clone())).2, "c d");
    let file = std::env::temp_dir().join(format!("compat-{}.png", std::process::id()));
    std::fs::write(&file, &code).unwrap();
    let read = curl(
        service.addr,
        &["-F", &format!("file=@{}", file.display()), &format!("{at}/v1/read-qr-code/")],
    );
    std::fs::remove_file(&file).unwrap();
    let read: serde_json::Value = serde_json::from_slice(&read).unwrap();
    assert_eq!(read[0]["symbol"][0]["data"], "c d");
    let body = r#"{"text": "posted", "size": 300}"#;
    let code = curl(
        service.addr,
        &["-H", "Content-Type: application/json", "-d", body, &format!("{at}/qr")],
    );
    assert_eq!(seen(&png(code)), (300, 300, "posted".to_owned()));
    let code = curl(service.addr, &["-d", "cht=qr&chs=200x200&chl=form", &format!("{at}/chart")]);
    assert_eq!(seen(&png(code)).2, "form");
    let accept = ["-H", "Accept: image/png"];
    let code =
        curl(service.addr, &[&[&*format!("{show}/https://example.com")][..], &accept].concat());
    assert_eq!(seen(&png(code)).2, "https://example.com");
    let code = curl(service.addr, &[&[&*show, "-d", "INPUT"][..], &accept].concat());
    assert_eq!(seen(&png(code)).2, "INPUT");
    assert!(
        String::from_utf8(curl(service.addr, &[&format!("{show}/INPUT")])).unwrap().contains('▄')
    );
}

#[test]
fn fetch_and_form_data_get_what_pages_take_from_the_answers() {
    let service = start(&ON);
    let script = r#"
        const at = process.argv[1];
        const text = 'https://example.com/?q=a b&c=ü';
        const urls = [
          `${at}/v1/create-qr-code/?size=240x240&data=${encodeURIComponent(text)}&margin=10`,
          `${at}/qr?size=240&text=${encodeURIComponent(text)}`,
          `${at}/chart?cht=qr&chs=240x240&chl=${encodeURIComponent(text)}&chld=M|4`,
        ];
        for (const url of urls) {
          const form = new FormData();
          form.append('file', await (await fetch(url)).blob(), 'qr.png');
          const answer = await fetch(`${at}/v1/read-qr-code/`, { method: 'POST', body: form });
          const { data, error } = (await answer.json())[0].symbol[0];
          if (!answer.ok || data !== text || error !== null) throw new Error(`${url}: ${data} ${error}`);
        }
        console.log(urls.length);
    "#;
    let at = format!("http://{}", service.addr);
    let told = output(Command::new("node").args(["--input-type=module", "-e", script, &at]));
    assert_eq!(String::from_utf8(told).unwrap().trim(), "3");
}
