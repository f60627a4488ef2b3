//! Files of results, captures, scenarios and pages.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use super::{Lab, SHORT, are_absent_or_whole, mounted};

#[test]
fn results_and_captures_of_a_run_are_absent_or_whole() {
    let lab = Lab::new("run");
    lab.write("a.toml", SHORT);
    let run = "multihop run ../a.toml --out new/out --trace --pcap --json";
    let Some(trace) = lab.record(run) else { return };
    let last = trace.complete().into_files();
    assert!(last.len() >= 7, "{:?}", last.keys());
    trace.try_cuts("multihop run --out", |image| are_absent_or_whole(image, &last)).assert_none_is_violated();
}

#[test]
fn a_new_scenario_file_is_absent_or_whole() {
    let lab = Lab::new("init");
    let Some(trace) = lab.record("multihop init a.toml") else { return };
    let last = trace.complete().into_files();
    let cuts = trace.try_cuts("multihop init", |image| are_absent_or_whole(image, &last));
    cuts.assert_none_is_violated();
}

/// A program of Python that has the module `files` of the package.
fn python(lab: &Lab, name: &str, text: &str) {
    let module = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/multihop/files.py");
    let import = format!(
        "import importlib.util, json, pathlib, sys\n\
         spec = importlib.util.spec_from_file_location('files', '{module}')\n\
         files = importlib.util.module_from_spec(spec)\n\
         spec.loader.exec_module(files)\n"
    );
    lab.write(name, import + text);
}

#[test]
fn files_of_the_python_package_are_absent_or_whole() {
    let lab = Lab::new("python");
    let text = "for n in range(3):\n\
                \x20   files.make_folder(pathlib.Path(f'a/{n}'))\n\
                \x20   files.write_text(pathlib.Path(f'a/{n}/page.html'), 'text' * 5000)\n";
    python(&lab, "write.py", text);
    let Some(trace) = lab.record("python3 -B ../write.py") else { return };
    let last = trace.complete().into_files();
    assert_eq!(last.len(), 7);
    trace.try_cuts("files of Python", |image| are_absent_or_whole(image, &last)).assert_none_is_violated();
}

#[test]
fn lines_that_the_python_package_has_added_stay_and_a_torn_one_does_not_count() {
    let lab = Lab::new("lines");
    let text = "for n in range(12):\n\
                \x20   line = json.dumps({'n': n, 'text': 'x' * 700 * (n % 3)})\n\
                \x20   files.append_line(pathlib.Path('lines.jsonl'), line)\n\
                \x20   print('added', flush=True)\n";
    python(&lab, "add.py", text);
    // The checking program reads the file in each folder that its standard input names.
    let text = "for line in sys.stdin:\n\
                \x20   path = pathlib.Path(line.strip()) / 'lines.jsonl'\n\
                \x20   files.append_line(path, json.dumps({'n': 'next'}))\n\
                \x20   print(json.dumps([one['n'] for one in files.json_lines(path)]), flush=True)\n";
    python(&lab, "read.py", text);
    let Some(trace) = lab.record("python3 -B ../add.py") else { return };
    let mut command = Command::new("python3");
    command.arg("-B").arg(lab.path("read.py")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut reader = command.spawn().unwrap();
    let mut paths = reader.stdin.take().unwrap();
    let mut found = BufReader::new(reader.stdout.take().unwrap());
    let cuts = trace.try_cuts("lines of Python", |image| {
        let mut line = String::new();
        mounted(image, |folder| {
            writeln!(paths, "{}", folder.display()).unwrap();
            found.read_line(&mut line).unwrap();
            Ok(())
        })?;
        let numbers: Vec<serde_json::Value> = serde_json::from_str(&line).unwrap();
        let (next, before) = numbers.split_last().unwrap();
        let is_right = next == "next" && before.iter().enumerate().all(|(n, found)| *found == n);
        let added = image.outputs().matches("added").count();
        if is_right && before.len() >= added { Ok(()) } else { Err(format!("{added} were added: {line}")) }
    });
    drop(paths);
    reader.wait().unwrap();
    cuts.assert_none_is_violated();
}

#[test]
fn a_folder_of_results_can_be_written_again() {
    let lab = Lab::new("again");
    lab.write("a.toml", SHORT);
    let Some(trace) = lab.record("multihop run ../a.toml --out out --json") else { return };
    // A file that is left over from a loss of power does not prevent the next run.
    let image =
        (0..).map(|n| trace.cut_by_seed(n)).find(|image| image.file("out/result.json.part").is_some());
    mounted(&image.unwrap(), |folder| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_multihop"));
        let run = ["run".into(), lab.path("a.toml"), "--out".into(), folder.join("out")];
        let output = command.args(run).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let names = std::fs::read_dir(folder.join("out")).unwrap().map(|name| name.unwrap().file_name());
        assert!(names.into_iter().all(|name| !name.to_string_lossy().ends_with(".part")));
        Ok(())
    })
    .unwrap();
}
