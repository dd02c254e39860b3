//! A run that is written up for paper, as far as there is room.

use super::{Detail, compose, print, study};
use crate::{Document, Section};
use ::study::paper::Form;
use analysis::Judged;

/// Parts for which a printed run had no room, after which no further one is tried.
const MOST_REFUSED: usize = 3;

/// A run that is written up for paper: the paper of its study, else all of the report.
pub struct Draft<'a> {
    judged: &'a Judged,
    study: Option<study::Written<'a>>,
}

impl<'a> Draft<'a> {
    /// Decides the claims, once for all that is written of them.
    pub fn of(judged: &'a Judged) -> Draft<'a> {
        Draft { judged, study: study::Written::of(judged) }
    }

    pub fn form(&self) -> Form {
        self.study.as_ref().map_or(print::FORM, study::Written::form)
    }

    /// Whether it is the paper of a study, whose author says how long it is.
    pub fn is_of_study(&self) -> bool {
        self.study.is_some()
    }

    pub fn document(&self) -> Document {
        match &self.study {
            Some(study) => study.whole(self.judged),
            None => compose(self.judged, Detail::Full),
        }
    }

    /// What its form has room for on paper, by `fits`, which says whether a document does.
    ///
    /// # Errors
    /// Those of `fits`.
    pub fn paper<E>(
        &self,
        mut fits: impl FnMut(&Document) -> Result<bool, E>,
    ) -> Result<Document, E> {
        if let Some(study) = &self.study {
            return study.paper(self.judged, &mut fits);
        }
        let parts = print::parts(self.judged);
        let mut ranks: Vec<usize> = (0..parts.len()).collect();
        ranks.sort_by_key(|at| parts[*at].0);
        let with = |kept: &[usize]| {
            let is_kept = |at: &usize| kept.contains(at);
            let (kept, left): (Vec<usize>, Vec<usize>) = (0..parts.len()).partition(is_kept);
            let kept: Vec<Section> = kept.into_iter().map(|at| parts[at].1.clone()).collect();
            let left: Vec<&Section> = left.into_iter().map(|at| &parts[at].1).collect();
            print::document(self.judged, &kept, &left)
        };
        let mut kept = Vec::new();
        let (mut best, mut refused) = (with(&kept), 0);
        for at in ranks {
            kept.push(at);
            let tried = with(&kept);
            if kept.len() == 1 || (refused < MOST_REFUSED && fits(&tried)?) {
                best = tried;
            } else {
                kept.pop();
                refused += 1;
            }
        }
        Ok(best)
    }
}
