//! A case that is about to be measured: with its mechanism at hand.

use mechanisms::Variant;
use mechanisms::workload::connect;

/// One combination of factor levels, with its mechanism at hand.
pub type Case = model::case::Case<Variant>;

/// What only its mechanism knows of a case.
pub trait WithMechanism: Sized {
    /// Bytes of the largest message that the mechanism is opened for: a request, or its answer.
    fn opened_for(&self) -> usize;

    /// Bytes of a message that is sent, and of its answer unless the load says otherwise; of a set-up, those that
    /// the mechanism is opened for. 1 where messages have no size.
    fn request_bytes(&self) -> usize;

    /// The same, as it is kept.
    fn kept(&self) -> model::case::Case;

    /// A case as it was kept; None where its variant is none of this build's.
    fn of_kept(kept: &model::case::Case) -> Option<Self>;
}

impl WithMechanism for Case {
    fn opened_for(&self) -> usize {
        let response = self.load.and_then(|load| load.response).unwrap_or(0);
        self.request_bytes().max(response as usize)
    }

    fn request_bytes(&self) -> usize {
        let sized = self.variant.traits().carries.has_size();
        match self.message_bytes {
            Some(bytes) => bytes as usize,
            None if sized && self.workload.traits().sets_up => connect::OPENED_FOR as usize,
            None => 1,
        }
    }

    fn kept(&self) -> model::case::Case {
        self.with(Variant::to_string)
    }

    fn of_kept(kept: &model::case::Case) -> Option<Case> {
        let variant = Variant::parse(&kept.variant).ok()?;
        Some(kept.with(|_| variant))
    }
}
