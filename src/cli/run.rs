//! `ipcmark` and `ipcmark run`: plan, measure, judge, show.

use super::compare::{INCONCLUSIVE, REGRESSION};
use analysis::explain::explain;
use analysis::hypothesis::Decision;
use std::path::Path;
use std::time::Duration;

use super::args::RunArgs;
use super::arms::{self, Cleanup};
use super::awaited::Awaited;
use super::events::{Events, Live};
use super::exit_codes::{UNAVAILABLE, can_measure};
use super::progress::StderrProgress;
use super::routes::{self, Routes};
use super::shown::Shown;
use super::{
    Common, Failure, PROGRAM, choice, complain, document_output, export, forecast, plugins, print,
    report, resume, signals, step_summary, tell,
};
use ::report::compose::{answer, answer_of_arms};
use ::report::export::{Format, planned_name};
use ::run::campaign::{Campaign, Conditions, Hosts, Turn};
use ::run::launch::peer::Peer;
use ::run::launch::{Interrupt, Launcher};
use ::run::plan::{AvailableRoutes, Machine, Plan, WithMechanism, plan};
use ::run::plugin::host;
use analysis::{CaseResult, Judged, Status};
use machine::Topology;
use mechanisms::{clean, clean_up_after_launches};
use model::peer::PeerRequest;
use model::plugin::{Kind, Plugin};
use model::request::{Aim, Request};
use model::route::Route;
use store::{RunStatus, Store, StoredRun};

/// How long a process that is slow to die may keep what its launch made, at the end of a run.
const SLOW_TO_DIE: Duration = Duration::from_secs(5);

/// `ipcmark run …`.
pub fn chosen(common: &Common, args: &RunArgs, interrupt: &Interrupt) -> Result<u8, Failure> {
    run(common, args, interrupt)
}

fn run(common: &Common, args: &RunArgs, interrupt: &Interrupt) -> Result<u8, Failure> {
    let args = &args.with_plugins(&plugins::BESIDE, interrupt)?;
    // Whatever is wrong with the request is said before anything is stored.
    let request = args.request().map_err(Failure::usage)?;
    document_output::can_print(args.pdf.as_deref())?;
    match &args.resume {
        Some(_) => measure_with(common, args, None, interrupt, Routes::default()),
        None => ask(common, args, request, interrupt),
    }
}

/// Plans and measures `request`, over the routes that it needs; shows it as `args` say.
pub fn ask(
    common: &Common,
    args: &RunArgs,
    mut request: Request,
    interrupt: &Interrupt,
) -> Result<u8, Failure> {
    arms::try_all(&mut request, interrupt)?;
    if request.routes.iter().all(Route::is_local) {
        let plan = planned(&request, &AvailableRoutes::default(), interrupt)?;
        if args.list_names {
            return list_names(&request, &plan);
        }
        return measure(common, args, Some((request, plan)), interrupt);
    }
    // What is wrong with it in any case is said before anybody is asked for a password.
    planned(&request, &Routes::foreseen(&request), interrupt)?;
    let peer = routes::greet(&args.peer, &mut request, interrupt)?;
    let routes = Routes::open(&request.routes, peer, request.seed, interrupt)?;
    let plan = planned(&request, &routes.available, interrupt)?;
    if args.list_names {
        return list_names(&request, &plan);
    }
    measure_with(common, args, Some((request, plan)), interrupt, routes)
}

/// The names of what would be measured, a line each: a harness knows what to expect.
fn list_names(request: &Request, plan: &Plan) -> Result<u8, Failure> {
    let cases = plan.groups.iter().flat_map(|group| &group.cases).filter(|case| case.is_result());
    let names = cases.map(|case| planned_name(&case.kept(), request) + "\n");
    print(&names.collect::<String>()).map(|()| 0)
}

/// Measures what was asked, or goes on with what `args` resume; shows it as `args` say.
pub fn measure(
    common: &Common,
    args: &RunArgs,
    asked: Option<(Request, Plan)>,
    interrupt: &Interrupt,
) -> Result<u8, Failure> {
    measure_with(common, args, asked, interrupt, Routes::default())
}

fn measure_with(
    common: &Common,
    args: &RunArgs,
    mut asked: Option<(Request, Plan)>,
    interrupt: &Interrupt,
    mut routes: Routes,
) -> Result<u8, Failure> {
    can_measure()?;
    let baseline = args.against.baseline(common)?;
    let (arms, cleanup) = args.arms.asked().map_err(Failure::usage)?;
    let _awaited = Awaited::of(common, args)?;
    if let Some((request, _)) = &mut asked {
        request.defaults = common.defaults.iter().map(ToString::to_string).collect();
    }
    if let Some((request, plan)) = &asked
        && let Some(line) = forecast::beyond_budget(request, plan)
        && !common.quiet
    {
        complain(&line);
    }
    let mut store = match args.resume {
        None => Store::open(&common.store_path()?)?,
        Some(_) => Store::reopen(&common.store_path()?)?,
    };
    // Before anything else is touched: another may be at it.
    let resumed = match &args.resume {
        Some(name) => {
            let id = claim(&mut store, name, require_unfinished)?;
            let run = store.run(id)?;
            let peer = named_again(args, &run)?;
            arms_again(args, &run, interrupt)?;
            if !plugins::are_those_of(&run) {
                return Err(resume::refused(run.id, &resume::line(&run)));
            }
            Some((run, peer))
        }
        None => None,
    };
    let labs = routes::clean().0.removed;
    for line in clean().removed.into_iter().chain(labs).filter(|_| !common.quiet) {
        complain(&format!("removed {line}"));
    }
    let events = match args.format {
        Shown::Exported(Format::Ndjson) => Some(Events::to(args.to.output.as_deref(), interrupt)?),
        _ => None,
    };
    let mut live = Live::new(StderrProgress::new(common.quiet), events);
    let resumed = match resumed {
        Some((run, peer)) => {
            routes = open_again(args, &run, peer, interrupt)?;
            Some(run.id)
        }
        None => None,
    };
    let turn = Turn::wait(args.taken.no_wait, interrupt, |other| {
        if !common.quiet {
            complain(&format!(
                "{other} measures here: waiting for its end, two minutes at most (--no-wait: at once)"
            ));
        }
    });
    signals::unless_stopped(interrupt)?;
    let open = std::mem::take(&mut routes.open);
    let peers: Vec<Peer> = open.routes.values().map(|route| route.peer.clone()).collect();
    let cleanup = cleanup.map(|command| Cleanup::stand_by(&command, interrupt)).transpose()?;
    let launcher = launcher_of(&plugins::all())?;
    let hosts = Hosts { launcher, routes: open, arms, turn };
    let with = Conditions { store: &mut store, interrupt, progress: &mut live };
    let argv: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut campaign = match (asked, resumed) {
        (Some((request, plan)), _) => Campaign::begin(with, hosts, &request, &plan, &argv)?,
        (None, Some(id)) => Campaign::resume(with, hosts, id, args.budget)?,
        (None, None) => unreachable!("a run is planned or resumed"),
    };
    if let Some(label) = &args.taken.label {
        campaign.label(label)?;
    }
    let (id, status) = campaign.run()?;
    let lost = peers.iter().find_map(Peer::lost);
    // Nothing is measured any more: what was only made for that goes before anybody reads.
    drop((peers, routes, cleanup));
    say_what_is_left(interrupt);
    let judged = Judged::of(&store, id)?;
    let resume = resume::how(id, &resume::line(&judged.run));
    let shown = show(common, args, &judged, &store).and(live.conclude(&judged, &resume));
    if let Some(code) = signals::ended(status, interrupt, &shown, &resume) {
        return Ok(code);
    }
    shown?;
    if let Some(why) = lost {
        complain(&format!("{why}; what was measured is kept: {resume}"));
        return Ok(1);
    }
    if nothing_is_available(&judged) {
        complain("nothing that was asked for is available here; the reasons are listed above");
        return Ok(UNAVAILABLE);
    }
    if let Some(code) = choice::exit_code(&judged) {
        return Ok(code);
    }
    let code = exit_code(args, &judged);
    if code == 1 {
        complain("nothing could be measured; the reasons are listed above");
    }
    if let Some(why) = unanswered(&judged).filter(|_| code == 0) {
        complain(why);
        return Ok(1);
    }
    match baseline.filter(|_| code == 0) {
        Some(baseline) => {
            let shown = args.format == Shown::Text && args.to.output.is_none();
            baseline.hold(common, &judged, shown)
        }
        None if code == 0 => Ok(args.against.exit_code_of_arms(&judged)),
        None => Ok(code),
    }
}

/// Why a run that was measured answers nothing of what it was made for.
fn unanswered(judged: &Judged) -> Option<&'static str> {
    let asked = matches!(judged.run.request.aim, Aim::Explanation { .. });
    (asked && explain(judged).cases.is_empty())
        .then_some("nothing could be taken apart; the reasons are listed above")
}

/// Removes what launches have left behind, once none is under way any more, and says what stays.
pub fn say_what_is_left(interrupt: &Interrupt) {
    // A signal wants an end now: the next run removes it as well.
    let patience = if interrupt.signal().is_some() { Duration::ZERO } else { SLOW_TO_DIE };
    for line in clean_up_after_launches(patience).left {
        complain(&format!("left {line} (`ipcmark clean` tries again)"));
    }
}

/// The cases of a request on this machine. Each mechanism is tried, so that the signals must be taken over.
pub fn planned(
    request: &Request,
    routes: &AvailableRoutes,
    interrupt: &Interrupt,
) -> Result<Plan, Failure> {
    let topology =
        Topology::here().map_err(|error| Failure::other(format!("read the topology: {error}")))?;
    let allowed = topology.allowed();
    let machine = Machine { topology: &topology, allowed: &allowed, routes };
    let plan = plan(request, &machine).map_err(Failure::usage)?;
    signals::unless_stopped(interrupt).map(|()| plan)
}

/// Takes up a run for this process alone, if it can be gone on with, as `require` says.
pub fn claim(
    store: &mut Store,
    name: &str,
    require: impl Fn(&Store, i64) -> Result<(), Failure>,
) -> Result<i64, Failure> {
    let id = store.find_run(name).map_err(|error| Failure::usage(error.to_string()))?;
    require(store, id)?;
    store.claim(id)?;
    // Another may have ended it meanwhile.
    require(store, id)?;
    Ok(id)
}

fn require_unfinished(store: &Store, id: i64) -> Result<(), Failure> {
    if let Some((_, fleet)) = store.fleet(id)? {
        return Err(Failure::usage(format!(
            "run {id} was measured on many nodes: `{}` goes on with it",
            resume::fleet_line(id, &fleet.asked)
        )));
    }
    let run = store.run(id)?;
    if run.status == RunStatus::Complete {
        return Err(Failure::usage(format!("run {id} is complete: there is nothing to resume")));
    }
    if run.host.boot_id != sys::identity::boot().ok() {
        return Err(Failure::usage(format!(
            "this machine was restarted since run {id} began, and its clock with it: measure anew"
        )));
    }
    let now = sys::clock::choose(Path::new("/")).0;
    if run.clock.kind != now {
        return Err(Failure::usage(format!(
            "run {id} was timed by {}, and here it is {now} now: their stamps don't fit together; measure anew",
            run.clock.kind
        )));
    }
    Ok(())
}

/// The other host of a run that goes on, as the command line names it again.
fn named_again(args: &RunArgs, run: &StoredRun) -> Result<Option<PeerRequest>, Failure> {
    match (&run.request.peer, args.peer.asked().map_err(Failure::usage)?) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Failure::usage(format!(
            "--peer: run {} was measured to no other host: leave it out",
            run.id
        ))),
        (Some(stored), _) => match args.peer.again(stored).map_err(Failure::usage)? {
            Some(asked) => Ok(Some(asked)),
            None => Err(resume::refused(run.id, &resume::line(run))),
        },
    }
}

/// The arms of a run that goes on must be those that it was begun with, given again: nothing of a store is executed.
fn arms_again(args: &RunArgs, run: &StoredRun, interrupt: &Interrupt) -> Result<(), Failure> {
    let stored = &run.request;
    if stored.arms.is_empty() && args.arms.are_given() {
        let line = format!("--arm: run {} has no arms: leave it out", run.id);
        return Err(Failure::usage(line));
    }
    match args.arms.again(stored).map_err(Failure::usage)? {
        None => Err(resume::refused(run.id, &resume::line(run))),
        Some(arms) => arms::try_all(&mut Request { arms, ..Request::default() }, interrupt),
    }
}

/// The routes of a run that goes on. Its laboratories are made again.
fn open_again(
    args: &RunArgs,
    run: &StoredRun,
    peer: Option<PeerRequest>,
    interrupt: &Interrupt,
) -> Result<Routes, Failure> {
    let peer = peer.map(|asked| greet_again(args, run, asked, interrupt)).transpose()?;
    let needed: Vec<Route> = run.routes().into_iter().cloned().collect();
    let routes = Routes::open(&needed, peer, run.request.seed, interrupt)?;
    match routes.available.no_lab.first_key_value() {
        Some((route, why)) if run.labs.iter().any(|lab| lab.route == *route) => {
            Err(Failure::usage(format!("run {} goes on over {route}: {why}", run.id)))
        }
        _ => Ok(routes),
    }
}

/// The other host of a run that goes on: it must be the same, since it was started.
fn greet_again(
    args: &RunArgs,
    run: &StoredRun,
    asked: PeerRequest,
    interrupt: &Interrupt,
) -> Result<Peer, Failure> {
    let peer = args.peer.start(asked, interrupt)?;
    let before = run.peer.as_ref().and_then(|peer| peer.host.boot_id.as_ref());
    if before == peer.far().host.boot_id.as_ref() {
        return Ok(peer);
    }
    Err(Failure::usage(format!(
        "run {} was measured against another host, or before this one rebooted: start a new run",
        run.id
    )))
}

/// Shows and writes all that was asked for: what can't be written is no reason to keep the rest back.
fn show(common: &Common, args: &RunArgs, judged: &Judged, store: &Store) -> Result<(), Failure> {
    let results = match (args.format, &args.to.output) {
        // Its events have been written while they happened; the last ones follow.
        (Shown::Exported(Format::Ndjson), _) => Ok(()),
        (Shown::Exported(Format::Json), path) if judged.run.request.aim.need().is_some() => {
            choice::show_json(path.as_deref(), judged)
        }
        (Shown::Exported(format), path) => export::write(format, path.as_deref(), judged, store),
        (Shown::Written(script), path) => document_output::write(script, path.as_deref(), judged),
        (Shown::Text, Some(path)) => report::write_text(common, path, judged),
        (Shown::Text, None)
            if common.verbose == 0
                && args.arms.are_given()
                && judged.run.request.study.is_none() =>
        {
            common.show(&answer_of_arms(judged, args.against.terms()))
        }
        (Shown::Text, None) => common.show(&report::document(common, judged)),
    };
    step_summary::add(&answer(judged));
    let page = args.to.html.as_ref().map_or(Ok(()), |path| {
        report::write_page(path, judged)?;
        if !common.quiet {
            tell(&format!("The page with all figures: {}", path.display()));
        }
        Ok(())
    });
    let pdf =
        args.pdf.as_ref().map_or(Ok(()), |path| document_output::pdf(path, judged, args.pages));
    let files = args.files.write(judged, store);
    results.and(page).and(pdf).and(files)
}

/// Whether all that was asked for is denied, unknown here or at a limit.
fn nothing_is_available(judged: &Judged) -> bool {
    let is = |status| judged.results.iter().any(|case| case.status == status);
    let missing = is(Status::Unavailable) || !judged.asked_in_vain().is_empty();
    missing && !is(Status::Ok) && !is(Status::Failed)
}

fn exit_code(args: &RunArgs, judged: &Judged) -> u8 {
    let asked = |variant: &String| args.mechanisms.contains(variant);
    let missing = judged
        .results
        .iter()
        .any(|case| case.status == Status::Unavailable && asked(&case.variant));
    let failing = |case: &CaseResult| {
        let brought = judged.run.request.plugins.iter().any(|plugin| plugin.name == case.mechanism);
        brought && case.status == Status::Failed
    };
    let missing =
        missing || !judged.asked_in_vain().is_empty() || judged.results.iter().any(failing);
    let failed = judged.results.iter().all(|case| case.launches == 0);
    match (missing, failed) {
        (true, _) => UNAVAILABLE,
        (false, true) => 1,
        (false, false) if args.gate => gate(judged),
        (false, false) => 0,
    }
}

/// What the claims of a study come to: refuted, undecided, or all supported.
fn gate(judged: &Judged) -> u8 {
    let findings = judged.study.iter().flat_map(|study| &study.findings);
    let decisions: Vec<Decision> = findings.map(|finding| finding.decision).collect();
    if decisions.contains(&Decision::Refuted) {
        REGRESSION
    } else if decisions.iter().any(|decision| *decision != Decision::Supported) {
        INCONCLUSIVE
    } else {
        0
    }
}

/// What starts launches of these plug-ins and of what is built in.
///
/// # Errors
/// One is a library, and the program that loads those isn't there.
pub fn launcher_of(plugins: &[Plugin]) -> Result<Launcher, Failure> {
    let loads = |plugin: &Plugin| plugin.kind == Kind::Library && !plugin.is_absent();
    let host = match plugins {
        all if all.iter().any(loads) => Some(host().map_err(Failure::usage)?),
        all => (!all.is_empty()).then(|| PROGRAM.into()),
    };
    Ok(Launcher::new(PROGRAM.into()).with_host(host))
}
